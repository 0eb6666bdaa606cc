"""Image arrays, and images that are read lazily."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""(height, width, 3), RGB, 0-255."""

LazyImage = Callable[[], Image]

Depth = NDArray[np.float32]
"""(height, width): 0 is at the camera, 1 the farthest."""

LazyDepth = Callable[[], Depth]

Split = Literal["train", "validation", "test"]


def round_to_8_bits(values: NDArray[Any]) -> Image:
    """Round values from 0 (black) to 1 (white) to 8 bits; bytes stay as they are."""
    image: Image = values
    if values.dtype != np.uint8:
        image = np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)
    return image


class StoredImage(Protocol):
    """An image on disk; calling it decodes it, its size is read from the header."""

    def __call__(self) -> Image: ...

    @property
    def name(self) -> str: ...

    def size(self) -> tuple[int, int]:
        """Height and width."""


class FrameSequence(Protocol):
    """A sequence of frames, read forward one at a time."""

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
        """Yield the decoded frames start .. stop - 1."""
