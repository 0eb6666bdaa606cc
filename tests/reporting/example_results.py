"""Evaluations made up as quickly as a test needs them, of any size and shape."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from idemnet.inference.weights import TrainedModel
from idemnet.steps.data import Evaluation, SampleImages
from idemnet.steps.metrics import Cost, ImageScores

SETTINGS = {
    "model": "idempotent", "network": {"width": 4, "iterations": 2}, "passes": 2,
    "alphas": [1.0, 1.0], "idempotence_weight": 0.1, "epochs": 3, "seed": 0, "threads": 1,
}  # fmt: skip
DETAILED = 100


@dataclass(frozen=True)
class Stored:
    """A picture as datasets hand it over."""

    image: Any = field(repr=False)
    name: str = "picture.png"

    def __call__(self) -> Any:
        return self.image

    def size(self) -> tuple[int, int]:
        return self.image.shape[:2]


@dataclass(frozen=True)
class Shape:
    """What an evaluation is like."""

    task: str = "deblur"
    dataset: str = "builtin"
    protocol: str = "gopro"
    measures: tuple[str, ...] = ("psnr", "ssim", "ssim_matlab")
    levels: tuple[int, ...] = (5, 7)
    iterations: int = 2
    passes: int = 10
    gain: float = 1.0
    loss: float = 0.5
    change: float = 2.0
    size: tuple[int, int] = (60, 80)
    grey: bool = False
    name: str = "scene"


def make_evaluation(images: int = 6, samples: int = 2, **options: Any) -> Evaluation:
    shape, random = Shape(**options), np.random.default_rng(0)
    rows = [_row(random, number, shape) for number in range(images)]
    about = {"task": shape.task, "dataset": shape.dataset, "protocol": shape.protocol,
             "chain": "float", "device": "cpu"}  # fmt: skip
    cost = {
        "parameters": 1234, "macs": {"1280x720": 2.5e9, "256x256": 1e8},
        "seconds": {"median": 0.5, "p95": 0.75, "runs": 10, "height": 48, "width": 64},
        "peak_memory_mb": 12.5, "device": "cpu", "device_name": "a processor",
    }  # fmt: skip
    shown = [_sample(random, row, shape) for row in rows[:samples]]
    return Evaluation("f" * 64, about, rows, Cost.model_validate(cost), shown)


def make_trained(task: str = "deblur", epochs: int = 3, **settings: Any) -> TrainedModel:
    card = {
        "task": task, "architecture": "idempotent", "arguments": {"iterations": 2},
        "parameters": 1234, "training": SETTINGS | settings, "epoch": epochs - 1,
        "validation": {"psnr": 28.0}, "data_fingerprint": "d" * 64, "fingerprint": "a" * 64,
        "device": "cpu", "threads": 1, "idemnet": "0.1.0", "sha256": "b" * 64,
    }  # fmt: skip
    history: list[dict[str, float]] = [
        {"epoch": number, "sharp_1": 0.03 / (number + 1), "total": 0.03} for number in range(epochs)
    ]
    if history:
        history[-1] |= {"sharp_2": 0.02, "idempotent": 0.001, "validation/psnr_input": 27.0,
                        "validation/psnr": 28.0, "validation/psnr_3": 27.9}  # fmt: skip
    return TrainedModel({}, card, history)


def _row(random: np.random.Generator, number: int, shape: Shape) -> ImageScores:
    def scores(psnr: float) -> dict[str, float]:
        return {name: psnr if name == "psnr" else psnr / 40 for name in shape.measures}

    level = shape.levels[number % len(shape.levels)]
    before = 30 - level / 2 + float(random.normal())
    after = before + shape.gain + 0.3 * float(random.normal())
    row = {"sequence": f"{shape.name}_{number:03}", "frame": f"{number:06}", "level": level,
           "input": scores(before), "restored": scores(after)}  # fmt: skip
    if number >= DETAILED:
        return ImageScores.model_validate(row)
    curve = np.linspace(after, after - shape.loss, shape.passes).tolist()
    count = shape.iterations
    one = {"psnr": np.linspace(before, after, count + 1)[1:].tolist(),
           "every": [shape.change / count] * count,
           "sum": np.linspace(0, shape.change, count + 1)[1:].tolist()}  # fmt: skip
    noise = {
        str(sigma): {"input": scores(before - sigma / 4), "restored": scores(after - sigma / 4)}
        for sigma in (0, 10)
    }
    row |= {
        "repeat": {"psnr": curve, "ssim": [value / 40 for value in curve]},
        "iterations": {"first": one, "second": one},
        "noise": noise,
    }
    return ImageScores.model_validate(row)


def _sample(random: np.random.Generator, row: ImageScores, shape: Shape) -> SampleImages:
    """Squares of colour under as much noise as a small sensor has."""
    clean = _squares(random, *shape.size, side=12)
    kinds = {"degraded": 12, "clean": 5, "restored": 8, f"pass_{shape.passes}": 9}
    kinds |= {f"iteration_{number}": 10 for number in range(1, shape.iterations)}
    pictures = {}
    for kind, noise in kinds.items():
        noisy = clean + noise * random.standard_normal(clean.shape, np.float32)
        image = np.clip(noisy, 0, 255).astype(np.uint8)
        pictures[kind] = Stored(image[:, :, 0] if shape.grey else image)
    return SampleImages(row.name, row.level, pictures)


def _squares(random: np.random.Generator, height: int, width: int, side: int) -> Any:
    coarse = random.uniform(0, 255, (-(-height // side), -(-width // side), 3))
    large = coarse.repeat(side, axis=0).repeat(side, axis=1)[:height, :width]
    return large.astype(np.float32)
