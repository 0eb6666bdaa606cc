"""Data types that steps pass to each other; images are read lazily."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.image import FrameSequence, Image, LazyDepth, Split, StoredImage
from idemnet.steps.metrics import Cost, ImageScores, Metrics
from idemnet.steps.mix import Mix


@dataclass(frozen=True)
class RawData:
    """Output of `download`: frame sequences, or the images of a data set of pairs."""

    fingerprint: str
    layout: str
    sequences: Sequence[FrameSequence]
    """Empty for a data set of pairs."""
    images: Mapping[str, StoredImage]
    files: Any
    """The files themselves, for a step that only refers to them."""
    depths: Mapping[tuple[Split, str], LazyDepth] = field(default_factory=dict)
    """Depth of the middle frame (`length // 2`), by split and sequence, if known."""
    dataset: str = ""
    """Name of the data set, where its source gives one."""
    mix: "Mix[RawData] | None" = None
    """What it consists of, where there are several sources."""


@dataclass(frozen=True)
class Pair:
    """A degraded image and the clean one it was made from."""

    split: Split
    sequence: str
    frame: str
    level: int
    """Frames averaged; for haze and rain the strength, from 1 (light); 0 if unknown."""
    height: int
    width: int
    degraded: StoredImage
    clean: StoredImage


@dataclass(frozen=True)
class Pairs:
    """Output of `synthesize`."""

    fingerprint: str
    pairs: Sequence[Pair]
    dataset: str
    """Name of the data set."""
    mix: "Mix[Pairs] | None" = None
    """What it consists of, where there are several sources."""


@dataclass(frozen=True)
class PatchRow:
    """A pair of patches: its origin, and the rows of its split's array that hold it."""

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
        """Return whether the patches can be held in memory."""

    def read(self, number: int, top: int, left: int, size: int) -> tuple[Image, Image]:
        """Copy the same window out of pair `number`: degraded, clean."""


@dataclass(frozen=True)
class Patches:
    """Output of `crop`."""

    fingerprint: str
    size: int
    splits: Mapping[Split, PatchReader]
    task: str
    weights: Mapping[str, float] = field(default_factory=dict)
    """Of each source, where there are several."""
    held_out: frozenset[str] = frozenset()
    """Training sequences that are used for validation."""


@dataclass(frozen=True)
class PatchBlock:
    """Patches of one image, and their position in the split's array."""

    split: Split
    array_length: int
    start: int
    patches: NDArray[np.uint8]
    index: Sequence[PatchRow]
    """Index rows that these patches complete."""


@dataclass(frozen=True)
class SampleImages:
    """Pictures of one test image."""

    name: str
    level: int
    pictures: Mapping[str, StoredImage]
    """`degraded`, `clean`, `iteration_1` ..., `restored`, and `pass_10` (the last pass)."""


@dataclass(frozen=True)
class Evaluation:
    """Output of `evaluate`."""

    fingerprint: str
    about: Mapping[str, Any]
    """Task, data set, protocol, device, and the weights' card."""
    rows: Sequence[ImageScores]
    cost: Cost
    samples: Sequence[SampleImages]


@dataclass(frozen=True)
class OtherRuns:
    """Latest scores of the other trainings on the same data."""

    evaluations: Sequence[Mapping[str, Any]]
    """Each with the `fingerprint` of its report, `name`, `parameters` (flat) and `metrics`."""

    @property
    def fingerprint(self) -> str:
        return " ".join(evaluation["fingerprint"] for evaluation in self.evaluations)


@dataclass(frozen=True)
class Report:
    """Output of `report`."""

    fingerprint: str
    run: str
    """Fingerprint of the training whose weights were evaluated."""
    metrics: Metrics
    files: Mapping[str, Callable[[], bytes]]
    """The page, the figures and the tables, by name."""


@dataclass(frozen=True)
class TrackedRun:
    """A training's run in MLflow."""

    name: str
    id: str
    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    """The last value of each metric."""
    curves: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    """Curves of the evaluation, by name: pass and value."""
    status: str = ""
