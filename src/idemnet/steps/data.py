"""What one step hands to the next; images are read only when they are needed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.image import FrameSequence, Image, LazyDepth, Split, StoredImage


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
