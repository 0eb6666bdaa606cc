"""Protocols of stores that persist between runs: checkpoints, evaluations, tracked runs."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from idemnet.imaging.image import Image
from idemnet.inference.weights import TrainedModel
from idemnet.steps.data import Evaluation, Report
from idemnet.steps.metrics import Metrics
from idemnet.steps.plan import Recipe


class CheckpointStore(Protocol):
    """Stores checkpoints of trainings by fingerprint."""

    def save(self, fingerprint: str, step: int, state: Mapping[str, Any]) -> None: ...

    def load(self, fingerprint: str) -> dict[str, Any] | None: ...

    def initial_weights(self, name: str, task: str) -> tuple[Mapping[str, Any], dict[str, Any]]: ...


class Training(Protocol):
    """Description of a training; the weights dataset runs it."""

    def run(self, checkpoints: CheckpointStore, tracker: "Tracker") -> TrainedModel: ...


class EvaluationStore(Protocol):
    """Stores evaluations by fingerprint."""

    def make(self, recipe: Recipe) -> Evaluation:
        """Carry out the recipe, unless its result is already published."""


@dataclass(frozen=True)
class StudyStores:
    """Where the cells of studies are kept and recorded."""

    checkpoints: CheckpointStore
    tracker: "Tracker"
    """Of the trainings."""
    evaluations: EvaluationStore
    recorder: "Tracker"
    """Of the studies, with their cells."""


class Measurement(Protocol):
    """Description of a study's measurements; the study's dataset runs it."""

    def run(self, stores: StudyStores) -> Recipe:
        """Train and evaluate every cell; return the recipe of the tables."""


class RunJournal(Protocol):
    """Record of a run."""

    def start(self, name: str, parameters: Mapping[str, Any], tags: Mapping[str, str]) -> None: ...

    def tag(self, tags: Mapping[str, str]) -> None: ...

    def log(self, step: int, values: Mapping[str, float]) -> None: ...

    def image(self, step: int, name: str, image: Image) -> None: ...

    def flush(self) -> None:
        """Wait until everything is stored, so that no checkpoint is ahead of its metrics."""

    def finish(self, scores: Mapping[str, float], artifacts: Mapping[str, bytes]) -> None: ...

    def evaluated(
        self, fingerprint: str, metrics: Metrics, artifacts: Mapping[str, bytes]
    ) -> None: ...


class Tracker(Protocol):
    """Records trainings."""

    def finished(self, fingerprint: str) -> bool: ...

    def trained(self, fingerprint: str) -> TrainedModel | None:
        """Return the result of a finished training, or None if it is not recorded."""

    def hours(self, fingerprint: str) -> float | None:
        """Return the duration of a training, without pauses, or None if it is not recorded."""

    def run(self, fingerprint: str) -> AbstractContextManager[RunJournal]: ...

    def evaluated(self, report: Report) -> None:
        """Add a report to its training's record, if there is one."""

    def evaluations(self, except_for: str) -> Sequence[Mapping[str, Any]]:
        """Return the latest metrics of every training but one.

        Each has the `fingerprint` of its report, and `name`, `parameters` (flat) and `metrics`.
        """
