"""Pictures to restore, with what the result must keep."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Metadata:
    """Metadata of a picture's file."""

    exif: bytes | None = None
    icc: bytes | None = None
    dpi: tuple[float, float] | None = None
    nclx: Mapping[str, Any] | None = None
    """Colour space of a HEIC picture without a profile, as returned by pillow-heif."""


@dataclass(frozen=True)
class Photo:
    """A picture with what the result must keep."""

    pixels: NDArray[Any]
    """(height, width, 3), RGB, uint8 or uint16 as in the file; grey as three equal channels."""
    alpha: NDArray[Any] | None = None
    """(height, width), of the same type."""
    grey: bool = False
    metadata: Metadata = Metadata()
    losses: tuple[str, ...] = ()
    """Messages about losses on reading."""


LazyPhoto = Callable[[], Photo]


@dataclass(frozen=True)
class Inbox:
    """Pictures to restore, by name."""

    fingerprint: str
    place: str
    """Display name of their location."""
    pictures: Mapping[str, LazyPhoto]
