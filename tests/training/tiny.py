"""A training small enough for a second: a few random patches, a tiny network, no server."""

import os
import signal
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from idemnet.datasets.checkpoint import Checkpoints
from idemnet.parameters import TrainParameters
from idemnet.recipes import Patches, PatchRow
from idemnet.training.job import TrainingJob

SIZE = 24
PARAMETERS = {
    "network": {
        "idempotent": {"width": 4, "iterations": 2, "residual_scale": 0.1},
        "dmphn": {"width": 2}, "mtrnn": {"width": 2, "iterations": 2},
    },
    "epochs": 3, "warmup_epochs": 1, "batch_size": 4, "crop": 16, "learning_rate": 1e-3,
    "validation_epochs": 1, "validation_patches": 4, "threads": 1, "workers": 0, "device": "cpu",
    "checkpoint_steps": 2, "average": 0.5,
}  # fmt: skip


@dataclass(frozen=True)
class RandomPatches:
    """Patches made from their number; one of them can be given a fault."""

    count: int = 12
    poison: str | None = None
    """`kill`, or `nan`: what reading does after `after` reads of a process."""
    after: int = 0
    rank: str | None = None
    reads: list[int] = field(default_factory=list)

    @property
    def rows(self) -> list[PatchRow]:
        return [PatchRow(f"s{n}", "1", 5, 0, 0, 2 * n, 2 * n + 1) for n in range(self.count)]

    def read(self, number: int, top: int, left: int, size: int) -> tuple[Any, Any]:
        self.reads.append(number)
        due = len(self.reads) > self.after and self.rank in (None, os.environ.get("RANK"))
        if due and self.poison == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        random = np.random.default_rng(number)
        clean = random.integers(0, 256, (SIZE, SIZE, 3), np.uint8)
        degraded = (clean // 2 + np.roll(clean, 1, axis=1) // 2).astype(np.uint8)
        window = np.s_[top : top + size, left : left + size]
        if due and self.poison == "nan":
            return np.full((size, size, 3), np.nan, np.float32), clean[window]
        return degraded[window], clean[window]


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

    def log(self, step, values) -> None:
        self.values.setdefault(step, {}).update(values)

    def image(self, step, name, image) -> None:
        self.images.append((step, name))

    def finish(self, scores, artifacts) -> None:
        self.artifacts = dict(artifacts)


def make_job(
    folder: Path, train: RandomPatches | None = None, record=None, **changes
) -> TrainingJob:
    parameters = TrainParameters.model_validate({**PARAMETERS, **changes})
    splits = {"train": train or RandomPatches(), "validation": RandomPatches(5)}
    patches = Patches("data", SIZE, splits)
    return TrainingJob("deblur", parameters, patches, Checkpoints(folder), record or Record())
