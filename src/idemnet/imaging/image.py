"""Images as arrays, and images that are read when they are needed."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

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
