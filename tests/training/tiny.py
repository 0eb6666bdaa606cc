"""A training small enough for a second: a few random patches, a tiny network, no server."""

import hashlib
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

from idemnet.parameters.train import TrainParameters
from idemnet.steps.data import Pair, Patches, PatchRow
from idemnet.tracking.checkpoints import Checkpoints
from idemnet.training.job import TrainingJob
from idemnet.training.launch import launch

SIZE = 24
STEPS = 9  # three epochs of three
PARAMETERS = {
    "network": {
        "idempotent": {"width": 4, "iterations": 2, "residual_scale": 0.1},
        "dmphn": {"width": 2}, "mtrnn": {"width": 2, "iterations": 2},
        "unet": {"width": 2, "encoder_blocks": [1]},
    },
    "epochs": 3, "single_pass_epochs": 1, "batch_size": 4, "crop": 16, "learning_rate": 1e-3,
    "validation_epochs": 1, "validation_patches": 4, "threads": 1, "workers": 0, "device": "cpu",
    "checkpoint_steps": 2, "ema_decay": 0.5, "mixed_precision": "off",
}  # fmt: skip


def limit_files(size: int = 1000) -> None:
    """Let no file grow beyond so many bytes, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def die_when_the_disk_is_full() -> None:
    """Have the kernel kill this process while it writes its next file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    limit_files()


def limit_memory() -> None:
    """Allow little more memory than is in use."""
    most = psutil.Process().memory_info().vms + 8_000_000
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


DEEDS = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGTERM": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "SIGUSR1": lambda: os.kill(os.getpid(), signal.SIGUSR1),
    "SIGINT": lambda: os.kill(os.getpid(), signal.SIGINT),
    "disk": limit_files,
    "kill while writing": die_when_the_disk_is_full,
    "memory": limit_memory,
}


@dataclass(frozen=True)
class RandomPatches:
    """Patches made from their number; one of them can be given a fault."""

    count: int = 12
    fits_in_memory = True
    poison: str | None = None
    """What reading does, or gives, after `after` reads of a process: one of DEEDS, or `nan`."""
    after: int = 0
    rank: str | None = None
    reads: list[int] = field(default_factory=list)

    @property
    def rows(self) -> list[PatchRow]:
        return [PatchRow(f"s{n}", "1", 5, 0, 0, 2 * n, 2 * n + 1) for n in range(self.count)]

    def read(self, number: int, top: int, left: int, size: int) -> tuple[Any, Any]:
        self.reads.append(number)
        here = self.rank in (None, os.environ.get("RANK"))
        if here and self.poison in DEEDS and len(self.reads) == self.after + 1:
            DEEDS[self.poison]()
        random = np.random.default_rng(number)
        clean = random.integers(0, 256, (SIZE, SIZE, 3), np.uint8)
        degraded = (clean // 2 + np.roll(clean, 1, axis=1) // 2).astype(np.uint8)
        window = np.s_[top : top + size, left : left + size]
        if self.poison == "nan" and len(self.reads) > self.after:
            return np.full((size, size, 3), np.nan, np.float32), clean[window]
        return degraded[window], clean[window]


@dataclass(frozen=True)
class RandomImage:
    """A whole image made from its number."""

    number: int
    width: int
    name: str = "image.png"

    def __call__(self) -> Any:
        random = np.random.default_rng(self.number)
        return random.integers(0, 256, (*self.size(), 3), np.uint8)

    def size(self) -> tuple[int, int]:
        return 40, self.width


TILED = 7000
"""Width of a random image that is restored in two tiles."""


def whole_images(count: int, width: int) -> tuple[Pair, ...]:
    return tuple(
        Pair("validation", "s", str(n), 5, 40, width, *(RandomImage(k, width) for k in (n, n + 9)))
        for n in range(count)
    )


@dataclass
class Record:
    """A tracker and journal that keeps what it is told."""

    values: dict[int, dict[str, float]] = field(default_factory=dict)
    images: list[tuple[int, str]] = field(default_factory=list)
    ended: str = ""
    artifacts: dict[str, bytes] = field(default_factory=dict)

    def finished(self, fingerprint: str) -> bool:
        return bool(self.artifacts) or self.ended == "done"

    @contextmanager
    def run(self, fingerprint: str):
        try:
            yield self
        except BaseException as error:
            self.ended = f"{type(error).__name__}: {error}"
            raise

    def start(self, name, parameters, tags) -> None:
        self.parameters, self.tags = parameters, tags

    def tag(self, tags) -> None:
        self.tags |= tags

    def log(self, step, values) -> None:
        self.values.setdefault(step, {}).update(values)

    def flush(self) -> None:
        pass

    def image(self, step, name, image) -> None:
        self.images.append((step, name))

    def finish(self, scores, artifacts) -> None:
        self.scores, self.artifacts = dict(scores), dict(artifacts)


def make_job(
    folder: Path, train: RandomPatches | None = None, record=None, **changes
) -> TrainingJob:
    parameters = TrainParameters.model_validate({**PARAMETERS, **changes})
    splits = {"train": train or RandomPatches(), "validation": RandomPatches(5)}
    patches = Patches("data", SIZE, splits, "deblur")
    return TrainingJob("deblur", parameters, patches, Checkpoints(folder), record or Record())


def trained(job: TrainingJob) -> dict:
    """Train to the end; give the last checkpoint."""
    launch(job)
    final = job.load_checkpoint()
    assert final["step"] == job.steps
    return final


def run_apart(work: Callable[..., None], *arguments: Any) -> int:
    """Do something in a process of its own; give its exit code."""
    process = multiprocessing.get_context("forkserver").Process(target=work, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def digest(value: Any) -> str:
    """A hash of all tensors and numbers in nested containers."""
    found = hashlib.sha256()

    def add(part):
        if isinstance(part, torch.Tensor):
            found.update(part.numpy().tobytes())
        elif isinstance(part, dict):
            for key in sorted(part, key=str):
                found.update(str(key).encode())
                add(part[key])
        elif isinstance(part, list | tuple):
            for one in part:
                add(one)
        else:
            found.update(repr(part).encode())

    add(value)
    return found.hexdigest()
