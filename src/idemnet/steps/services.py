"""What training and studies keep between runs: checkpoints, evaluations, tracked runs."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from idemnet.imaging.image import Image, LazyImage, Split
from idemnet.inference.weights import TrainedModel
from idemnet.parameters.source import SourceParameters
from idemnet.steps.data import Evaluation, Report
from idemnet.steps.plan import Recipe


class CheckpointStore(Protocol):
    """Where trainings keep their state, each under its fingerprint."""

    def save(self, fingerprint: str, step: int, state: Mapping[str, Any]) -> None: ...

    def load(self, fingerprint: str) -> dict[str, Any] | None: ...

    def initial_weights(self, name: str, task: str) -> tuple[Mapping[str, Any], dict[str, Any]]: ...


class EvaluationStore(Protocol):
    """Where evaluations are kept, each under its fingerprint."""

    def make(self, recipe: Recipe) -> Evaluation:
        """Make what the recipe describes, or find that it is there."""


class RunJournal(Protocol):
    """A run's record, step by step."""

    @property
    def id(self) -> str:
        """Of the run, wherever it is recorded."""

    def start(self, name: str, parameters: Mapping[str, Any], tags: Mapping[str, str]) -> None: ...

    def tag(self, tags: Mapping[str, str]) -> None: ...

    def log(self, step: int, values: Mapping[str, float]) -> None: ...

    def image(self, step: int, name: str, image: Image) -> None: ...

    def finish(self, scores: Mapping[str, float], artifacts: Mapping[str, bytes]) -> None: ...

    def evaluated(
        self, fingerprint: str, metrics: Mapping[str, Any], artifacts: Mapping[str, bytes]
    ) -> None: ...


class Tracker(Protocol):
    """Where trainings are recorded."""

    def finished(self, fingerprint: str) -> bool: ...

    def trained(self, fingerprint: str) -> TrainedModel | None:
        """Return what a finished training ended with, or None where there is no such record."""

    def run(self, fingerprint: str) -> AbstractContextManager[RunJournal]: ...

    def evaluated(self, report: Report) -> None:
        """Add a report to its training's record; without such a training there is nothing to do."""

    def evaluations(self, except_for: str) -> Sequence[Mapping[str, Any]]:
        """Return the latest figures of every training but one.

        Each has the `fingerprint` of its report, and `name`, `parameters` (flat) and `metrics`.
        """


class Sources(Protocol):
    """Where raw data can come from."""

    def photographs(self, split: Split) -> Sequence[LazyImage]: ...

    def further_photographs(self, folder: str) -> tuple[Sequence[LazyImage], dict[str, str]]:
        """Return those of a folder, and what tells them apart; none where no folder is named."""
        ...

    def archive(self, source: SourceParameters) -> Recipe: ...

    def folder(self, source: SourceParameters) -> Recipe: ...

    def videos(self, source: SourceParameters) -> Recipe: ...
