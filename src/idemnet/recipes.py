"""What one step hands to the next: data read only when asked for, results described before made.

A node returns a `Recipe`. The dataset that saves it first compares fingerprints: if what is on disk
was made from the same parameters and inputs, nothing is computed.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from idemnet.data_parameters import SourceParameters
from idemnet.parameters import Parameters

Image = NDArray[np.uint8]
"""(height, width, 3), RGB, 0-255."""

LazyImage = Callable[[], Image]

Depth = NDArray[np.float32]
"""(height, width): 0 is here, 1 as far as one can see."""

LazyDepth = Callable[[], Depth]

Split = Literal["train", "validation", "test"]


class StoredImage(Protocol):
    """An image on disk: called, it is decoded; its size costs only a look at the header."""

    def __call__(self) -> Image: ...

    @property
    def name(self) -> str: ...

    def size(self) -> tuple[int, int]:
        """Height and width."""


class FrameSequence(Protocol):
    """One filmed sequence, read forward, a frame at a time."""

    @property
    def split(self) -> Split: ...

    @property
    def name(self) -> str: ...

    @property
    def frames(self) -> Sequence[str]:
        """The frames' names, in order."""

    def size(self) -> tuple[int, int]:
        """Height and width of its frames."""

    def read(self, start: int, stop: int) -> Iterator[Image]:
        """Decode frames start .. stop - 1, each once."""


@dataclass(frozen=True)
class RawData:
    """What `download` published: filmed sequences, or the images of a ready-made pairs data set."""

    fingerprint: str
    layout: str
    sequences: Sequence[FrameSequence]
    """Empty where the data set is one of pairs."""
    images: Mapping[str, StoredImage]
    files: Any
    """Stands for the files as they lie, for a step that only points at them."""
    depths: Mapping[tuple[Split, str], LazyDepth] = field(default_factory=dict)
    """Of the middle frame (`length // 2`), by split and sequence; where they are known."""


@dataclass(frozen=True)
class Pair:
    """A degraded image and the clean one it was made from."""

    split: Split
    sequence: str
    frame: str
    level: int
    """Frames averaged; of haze and rain, from 1 (light) on; 0 where the data set does not say."""
    height: int
    width: int
    degraded: StoredImage
    clean: StoredImage


@dataclass(frozen=True)
class Pairs:
    """What `synthesize` published."""

    fingerprint: str
    pairs: Sequence[Pair]
    dataset: str
    """Name of the data set."""


@dataclass(frozen=True)
class PatchRow:
    """A pair of patches: where it was cut, and which rows of its split's array hold it."""

    sequence: str
    frame: str
    level: int
    top: int
    left: int
    degraded: int
    clean: int


class PatchReader(Protocol):
    """The pairs of patches of one split."""

    @property
    def rows(self) -> Sequence[PatchRow]: ...

    @property
    def fits_in_memory(self) -> bool:
        """Whether reading waits for no disk."""

    def read(self, number: int, top: int, left: int, size: int) -> tuple[Image, Image]:
        """Copy the same window out of pair `number`: degraded, clean."""


@dataclass(frozen=True)
class Patches:
    """What `crop` published."""

    fingerprint: str
    size: int
    splits: Mapping[Split, PatchReader]


@dataclass(frozen=True)
class PatchBlock:
    """The patches of one image, and where they go in their split's array."""

    split: Split
    array_length: int
    start: int
    patches: NDArray[np.uint8]
    index: Sequence[PatchRow]
    """Pairs that these patches complete."""


@dataclass(frozen=True)
class Job:
    """Work for one process: the names it makes, and how to make those of them that are wanted."""

    names: tuple[str, ...]
    make: Callable[[Collection[str]], Iterator[tuple[str, Any]]]


@dataclass(frozen=True)
class Plan:
    """A recipe's work, laid out after everything that can be checked beforehand was checked."""

    jobs: Sequence[Job] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the next step needs to know beside the files; part of the manifest."""
    bytes_needed: int = 0
    """Free disk without which there is no sense in starting."""
    uses: Any = None
    """Files that stay where they are: the published folder then only points at them."""


@dataclass(frozen=True)
class Recipe:
    """A result described, not yet computed."""

    fingerprint: str
    plan: Callable[[], Plan]


@dataclass(frozen=True)
class TrainedModel:
    """What `train` published."""

    weights: Mapping[str, Any]
    """Tensors by name."""
    card: Mapping[str, Any]
    """What they are: task, architecture, parameters, data, scores."""
    history: Sequence[Mapping[str, float]]
    """Means of each epoch."""


@dataclass(frozen=True)
class Sample:
    """Pictures of one test image."""

    name: str
    level: int
    pictures: Mapping[str, StoredImage]
    """`degraded`, `clean`, `restored`, `iteration_1` ... before it, and `pass_10` (the last)."""


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` published."""

    fingerprint: str
    about: Mapping[str, Any]
    """Task, data set, protocol, device, and what was evaluated: the weights' card."""
    rows: Sequence[Mapping[str, Any]]
    """Scores of each test image."""
    cost: Mapping[str, Any]
    samples: Sequence[Sample]


@dataclass(frozen=True)
class Report:
    """What `report` published."""

    fingerprint: str
    run: str
    """Fingerprint of the training whose weights were evaluated."""
    metrics: Mapping[str, Any]
    files: Mapping[str, Callable[[], bytes]]
    """The page, the figures and the tables, by name."""


@dataclass(frozen=True)
class TrackedRun:
    """A training as MLflow has it."""

    name: str
    id: str
    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    """The last value of each."""
    curves: Mapping[str, Sequence[tuple[int, float]]]
    """Those of the evaluation, by name: pass and value."""


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
        """Give the latest figures of every training but one.

        Each has the `fingerprint` of its report, and `name`, `parameters` (flat) and `metrics`.
        """


class Sources(Protocol):
    """Where raw data can come from."""

    def photographs(self, split: Split) -> Sequence[LazyImage]: ...

    def further_photographs(self, folder: str) -> tuple[Sequence[LazyImage], dict[str, str]]:
        """Give those of a folder, and what tells them apart; none where no folder is named."""
        ...

    def archive(self, source: SourceParameters) -> Recipe: ...

    def folder(self, source: SourceParameters) -> Recipe: ...

    def videos(self, source: SourceParameters) -> Recipe: ...


def fingerprint(step: str, version: int, *parts: Parameters | str | Mapping[str, Any]) -> str:
    """Identify a result by what it is made from.

    Args:
        step: Name of the step.
        version: Raised by whoever changes the step's code so that it gives other bytes.
        parts: Parameters, and fingerprints of inputs.
    """
    plain = [
        part.model_dump(mode="json") if isinstance(part, Parameters) else part for part in parts
    ]
    canonical = json.dumps([step, version, plain], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def flatten(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Give every leaf with its whole key, `train.learning_rate`."""
    for key, value in parameters.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
