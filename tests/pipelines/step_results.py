"""What each step gives for fixed inputs: numbers and digests, by the name of its version.

Bytes are compared by digest where every processor computes the same, otherwise by means, since
processors round differently in the last bit. After a version was raised,
`python -m tests.pipelines.step_results NAME` writes its results into known_results.json.
"""

import hashlib
import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from idemnet.datasets.raw import RawDataset
from idemnet.evaluation.job import COST, EvaluationJob
from idemnet.evaluation.protocols import PROTOCOLS
from idemnet.imaging.scenes import render_depth, render_frames
from idemnet.inference.network import Network
from idemnet.inference.weights import TrainedModel
from idemnet.media.image_files import encode_png, write_image
from idemnet.media.photo import Inbox, Photo
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.models import build_network
from idemnet.parameters.crop import CropParameters
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.restore import RestoreParameters
from idemnet.parameters.source import SceneParameters, SourceParameters
from idemnet.parameters.study import StudyParameters
from idemnet.parameters.synthesize import BlurParameters, HazeParameters, RainParameters
from idemnet.parameters.train import TrainParameters
from idemnet.pipelines.cells import StudyRun
from idemnet.pipelines.crop import crop
from idemnet.pipelines.download import download
from idemnet.pipelines.restore import restore_inbox
from idemnet.pipelines.study_inputs import one_sequence, restored_pairs, single_channel_pairs
from idemnet.pipelines.test_sets import ready_pairs
from idemnet.reporting.report import make_report
from idemnet.reporting.study import make_study_report
from idemnet.steps import versions
from idemnet.steps.data import Pair, Pairs, PatchRow, RawData
from idemnet.steps.plan import Recipe, flatten
from idemnet.steps.services import StudyStores
from idemnet.studies import all_studies, get_study
from idemnet.studies.parts.study import Cell
from idemnet.tasks.deblur import synthesize_blur
from idemnet.tasks.dehaze import synthesize_haze
from idemnet.tasks.derain import synthesize_rain

from ..conftest import REPOSITORY
from ..media.test_frames import write_video
from ..reporting.example_results import make_evaluation, make_trained
from ..reporting.test_study import study
from ..reporting.test_study import whole as whole_study
from ..training.tiny import RandomPatches, make_job
from ..training.tiny import trained as train_tiny

KNOWN = Path(__file__).with_name("known_results.json")

Results = dict[str, float | str]

UNET = {"width": 4, "encoder_blocks": [1, 1], "middle_blocks": 1, "residual_scale": 0.5}

FRAMES = np.random.default_rng(0).integers(0, 256, (15, 40, 50, 3), np.uint8)
ARGUMENTS = {"width": 4, "iterations": 2}


@dataclass(frozen=True)
class Picture:
    """Random squares, coarse enough to be restored; nothing is drawn before it is asked for."""

    seed: int
    name: str

    def __call__(self) -> Any:
        coarse = np.random.default_rng(self.seed).integers(0, 256, (5, 6, 3), np.uint8)
        return coarse.repeat(8, axis=0).repeat(8, axis=1)

    def size(self) -> tuple[int, int]:
        return 40, 48


def pair(split: Any, sequence: str, seed: int) -> Pair:
    names = [f"{split}/{sequence}/{kind}/1.png" for kind in ("blurred", "sharp")]
    images = [Picture(seed + number, name) for number, name in enumerate(names)]
    return Pair(split, sequence, "1", 5, 40, 48, *images)


PAIRS = Pairs(
    "f" * 64,
    [*(pair("train", f"s{number}", 10 * number) for number in range(4)),
     pair("test", "t", 50), pair("test", "u", 60)],
    "set",
)  # fmt: skip


def network(name: str = "idempotent", arguments: Mapping[str, Any] = ARGUMENTS) -> TrainedModel:
    torch.manual_seed(0)
    card = {"task": "deblur", "architecture": name, "arguments": arguments, "sha256": "a" * 64}
    return TrainedModel(build_network(name, arguments).state_dict(), card, [])


def digest(*parts: Any) -> str:
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(part.tobytes())
        else:
            found.update(part if isinstance(part, bytes) else json.dumps(part).encode())
    return found.hexdigest()[:16]


def quarters(name: str, image: Any) -> Results:
    """Return the means of an image's four quarters."""
    half = np.array_split(image, 2)
    parts = [part for rows in half for part in np.array_split(rows, 2, axis=1)]
    return {f"{name} {number}": float(part.mean()) for number, part in enumerate(parts)}


def made(recipe: Recipe) -> dict[str, Any]:
    return {name: one for job in recipe.plan().jobs for name, one in job.make(job.names)}


def load_raw(place: Path, **groups: Any) -> RawData:
    raw = RawDataset(str(place / "raw" / "set"))
    source = SourceParameters.model_validate(groups)
    raw.save(download(source))
    return raw.load()


def render(_: Path) -> Results:
    scene = SceneParameters(frames=3, height=48, width=64)
    photographs = [one for one in PHOTOGRAPHS if one.split == "test"]
    *_, last = render_frames(scene, "test", 0, photographs)
    depth = render_depth(scene, "test", 0, photographs)
    return {**quarters("frame", last), **quarters("depth", 255 * depth)}


def fetch(folder: Path) -> Results:
    files = {f"train/a/{number}.png": image for number, image in enumerate(FRAMES[:3])}
    with zipfile.ZipFile(folder / "set.zip", "w") as archive:
        for name, image in files.items():
            archive.writestr(f"set/{name}", encode_png(image))
            write_image(folder / "set", name, image)
    for name in ("b", "test/c"):
        (folder / "videos/test").mkdir(parents=True, exist_ok=True)
        write_video(folder / f"videos/{name}.mp4", count=3)
    archive_of = {"addresses": [str(folder / "set.zip")]}
    unpacked = load_raw(folder / "1", kind="archive", archive=archive_of)
    in_place = load_raw(folder / "2", kind="folder", folder={"path": str(folder / "set")})
    filmed = load_raw(folder / "3", kind="videos", videos={"path": str(folder / "videos")})
    return {
        "archive": _digest_of_sequences(unpacked),
        "folder": _digest_of_sequences(in_place),
        "videos": " ".join(f"{one.split}/{one.name}" for one in filmed.sequences),
        **{
            f"{one.name} {number}": float(frame.mean())
            for one in filmed.sequences
            for number, frame in enumerate(one.read(0, len(one.frames)))
        },
    }


def _digest_of_sequences(raw: RawData) -> str:
    parts = [(one.split, one.name, list(one.frames)) for one in raw.sequences]
    frames = [frame for one in raw.sequences for frame in one.read(0, len(one.frames))]
    return digest(raw.layout, sorted(raw.images), parts, *frames)


def raw_frames(folder: Path, sequence: str = "a") -> RawData:
    for number, frame in enumerate(FRAMES):
        write_image(folder / "set", f"train/{sequence}/{number:02d}.png", frame)
    far = np.linspace(0, 65535, 40 * 50).reshape(40, 50).astype(np.uint16)
    write_image(folder / "set", "depth/train/a.png", far)
    return load_raw(folder, kind="folder", folder={"path": str(folder / "set")})


def blur(folder: Path) -> Results:
    raw = raw_frames(folder / "centred")
    official = raw_frames(folder / "official", "GOPR0372_07_00")
    results: Results = {}
    for name, frames, changes in (
        ("linear", raw, {}),
        ("gamma", raw, {"response": "gamma"}),
        ("official", official, {"windows": "official"}),
    ):
        parameters = BlurParameters.model_validate({"levels": (5, 15), **changes})
        recipe = synthesize_blur(frames, parameters)
        images = made(recipe)
        about = dict(recipe.plan().about)
        results[name] = digest(about, list(images), *images.values())
    return results


def haze(folder: Path) -> Results:
    return _means(synthesize_haze(raw_frames(folder), HazeParameters(levels=2, nearest=0.25)))


def rain(folder: Path) -> Results:
    return _means(synthesize_rain(raw_frames(folder), RainParameters(levels=2, stride=15)))


def _means(recipe: Recipe) -> Results:
    results: Results = {"pairs": digest(recipe.plan().about["pairs"])}
    for name, image in made(recipe).items():
        results |= quarters(name, image)
    return results


def cropped(_: Path) -> Results:
    parameters = CropParameters(size=16, stride=12, min_contrast=60, validation_fraction=0.25)
    recipe = crop(PAIRS, parameters)
    blocks = made(recipe)
    rows = [[str(row) for row in block.index] for block in blocks.values()]
    starts = [(name, block.split, block.start) for name, block in blocks.items()]
    return {
        "about": digest(recipe.plan().about),
        "patches": digest(starts, *(block.patches for block in blocks.values())),
        "index": digest(rows),
    }


@dataclass(frozen=True)
class SeveralPatches(RandomPatches):
    """Patches of two sources, each place with two levels of blur."""

    @property
    def rows(self) -> list[PatchRow]:
        return [
            PatchRow(f"{'ab'[n % 2]}/s{n // 4}", "1", (5, 7)[n // 2 % 2], 0, 0, 2 * n, 2 * n + 1)
            for n in range(self.count)
        ]


TRAININGS: Mapping[str, Mapping[str, Any]] = {
    "unet": {"model": "unet", "network": {"unet": UNET}},
    "dmphn, two sources": {"model": "dmphn"},
    "mtrnn, temporal": {"model": "mtrnn", "temporal_supervision": True},
    "gated, softness, grain": {
        "network": {"idempotent": {"width": 4, "iterations": 1, "block": "gated"}},
        "softness": (0.5, 1.0), "grain": (5.0, 10.0),
    },
}  # fmt: skip
"""Trainings of one epoch with what the first one leaves out."""


def train(folder: Path) -> Results:
    final = train_tiny(make_job(folder, mixed_precision="off"))  # the same on every CPU
    epochs = {f"epoch {one['epoch']}": one for one in final["history"]}
    results = {name: float(value) for name, value in flatten(epochs)}
    results["weights"] = mean_weight(final)
    for name, changes in TRAININGS.items():
        settings = {"epochs": 1, "single_pass_epochs": 0, "checkpoint_steps": 100, **changes}
        job = make_job(folder, **settings)
        splits = {"train": SeveralPatches(), "validation": SeveralPatches(6)}
        weights = {"a": 3, "b": 1} if "two sources" in name else {}
        final = train_tiny(
            replace(job, patches=replace(job.patches, splits=splits, weights=weights))
        )
        results |= {f"{name}: {key}": value for key, value in final["history"][-1].items()}
        results[f"{name}: weights"] = mean_weight(final)
    return results


def mean_weight(final: Mapping[str, Any]) -> float:
    weights = torch.cat([one.flatten() for one in final["best"]["weights"].values()])
    return float(weights.abs().mean())


def evaluate(_: Path) -> Results:
    test = tuple(one for one in PAIRS.pairs if one.split == "test")
    parameters = EvaluateParameters(
        protocol="gopro", passes=3, noise=(0, 10), detailed_images=1, samples=1, device="cpu"
    )
    job = EvaluationJob(test, Network.of(network()), parameters, "cpu")
    rows, pictures = {}, {}
    for name, one in job.make([name for name in job.names if name != COST]):
        (rows if name.startswith("image") else pictures)[name] = one
    [(_, rows["unet"])] = EvaluationJob(
        test, Network.of(network("unet", UNET)), parameters, "cpu"
    ).make(["image 1"])
    results: Results = {}
    for name, value in flatten({**rows, "protocols": _protocols()}):
        values = value if isinstance(value, list) else [value]
        results |= {f"{name} {number}": one for number, one in enumerate(values)}
    for kind, picture in pictures["sample 0"].items():
        results |= quarters(kind, picture)
    return results


def _protocols() -> dict[str, dict[str, float]]:
    """Score one pair by every protocol, in floats, with an error that none of them rounds away."""
    reference = Picture(1, "")()
    random = np.random.default_rng(2).normal(0, 0.02, reference.shape)
    restored = reference.astype(np.float64) / 255 + random
    return {name: one.score(restored, reference) for name, one in PROTOCOLS.items()}


def report(_: Path) -> Results:
    return _texts(make_report(make_evaluation(), make_trained(), []))


def _texts(files: Mapping[str, bytes]) -> Results:
    """Digest text files; pictures inside them depend on libraries that encode them."""
    results: Results = {"files": " ".join(sorted(files))}
    for name in (name for name in files if not name.endswith(".png")):
        text = re.sub(rb"data:image/[^\"')]+", b"", files[name])
        if name.endswith(".svg"):  # to the pixel
            text = re.sub(rb"-?\d+\.\d+", lambda number: b"%.0f" % float(number[0]), text)
        results[name] = digest(text)
    return results


def restore(_: Path) -> Results:
    pixels = np.tile(Picture(3, "")(), (2, 2, 1))  # more than a tile
    pictures = {
        "8 bits.png": lambda: Photo(pixels),
        "16 bits.png": lambda: Photo(pixels.astype(np.uint16) * 257),
    }
    how = RestoreParameters(device="cpu", tile=64, tile_overlap=8, passes=2)
    found: Results = {}
    for prefix, weights in (("", network()), ("unet: ", network("unet", UNET))):
        restored = made(restore_inbox(Inbox("f" * 64, "here", pictures), weights, how))
        for name, photo in restored.items():
            scaled = photo.pixels / np.iinfo(photo.pixels.dtype).max * 255
            found |= quarters(prefix + name, scaled)
    return found


def studied(_: Path) -> Results:
    stored = yaml.safe_load((REPOSITORY / "conf/base/parameters_study.yml").read_text())["study"]
    plain = Cell("plain", "plain", {"epochs": 7})
    after = Cell("after", "after", {"passes": 1}, after=plain)
    chosen = {"cells": ["after"], "train": {"batch_size": 4}, "sequences_apart": True}
    parameters = StudyParameters.model_validate(
        {**stored, "seeds": 2, "studies": {"gopro": chosen}}
    )
    nothing: Any = None
    one = StudyRun(
        replace(get_study("gopro"), cells=(plain, after)), parameters, PAIRS,
        make_job(Path()).patches, TrainParameters(), EvaluateParameters(protocol="gopro"),
        StudyStores(nothing, nothing, nothing, nothing),
    )  # fmt: skip
    trained = [job.parameters for job in one._trainings()]
    return {
        "trials": " ".join(trial.name for trial in one.trials),
        "trainings": " ".join(
            f"{job.seed}/{job.epochs}/{job.passes}/{job.batch_size}" for job in trained
        ),
        # Of those that have a place in the paper's order; others may be added without a change.
        **{f"cells of {name}": digest(repr([replace(cell, label="") for cell in found.cells]))
           for name, found in all_studies().items() if found.order < 99},
    }  # fmt: skip


def study_inputs(_: Path) -> Results:
    grey = single_channel_pairs(PAIRS).pairs
    found: Results = {
        "single channel": digest(*(image() for one in grey for image in (one.degraded, one.clean))),
        "sequence": " ".join(one.degraded.name for one in one_sequence(PAIRS, "u").pairs),
    }
    for one in restored_pairs(PAIRS, network()).pairs:
        found |= quarters(one.degraded.name, one.degraded())
    return found


def paired(folder: Path) -> Results:
    results: Results = {}
    sides = {"gopro": ("train/a_07_00/blur", "train/a_07_00/sharp"), "flat": ("input", "target"),
             "reside": ("hazy", "clear")}  # fmt: skip
    for layout, (degraded, clean) in sides.items():
        write_image(folder / layout, f"{degraded}/1.png", FRAMES[0])
        border = 10 if layout == "reside" else 0
        larger = np.pad(FRAMES[1], ((border, border), (border, border), (0, 0)))
        write_image(folder / layout, f"{clean}/1.png", larger)
        here = {"path": str(folder / layout)}
        raw = load_raw(folder / f"data of {layout}", kind="folder", layout=layout, folder=here)
        results[layout] = json.dumps(ready_pairs(raw).plan().about["pairs"])
    return results


def tables(_: Path) -> Results:
    outcomes = whole_study("constraint").outcomes
    seeds = [replace(one, seed=1) for one in outcomes]
    return _texts(make_study_report(study("constraint", *outcomes, *seeds)))


RESULTS: dict[str, Callable[[Path], Results]] = {
    "RENDER": render, "FETCH": fetch,
    "SYNTHESIZE.deblur": blur, "SYNTHESIZE.dehaze": haze, "SYNTHESIZE.derain": rain,
    "CROP": cropped, "TRAIN": train, "EVALUATE": evaluate, "REPORT": report, "RESTORE": restore,
    "STUDY": studied, "STUDY_INPUTS": study_inputs, "READY_PAIRS": paired, "TABLES": tables,
}  # fmt: skip


def current(name: str) -> int:
    """Return a step's version as the code has it."""
    _, _, task = name.partition(".")
    if task:
        return int(import_module(f"idemnet.tasks.{task}").VERSION)
    return int(getattr(versions, name))


def write_known(name: str, folder: Path) -> None:
    """Write down a version's results; if it was not raised, only those with new names."""
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    before = known.get(name, {"version": None})
    kept = before["results"] if before["version"] == current(name) else {}
    known[name] = {"version": current(name), "results": {**RESULTS[name](folder), **kept}}
    KNOWN.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for raised in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as place:
            write_known(raised, Path(place))
