"""Pictures that people want restored, with all that must not be lost on the way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Metadata:
    """What a picture's file says beside its pixels."""

    exif: bytes | None = None
    icc: bytes | None = None
    dpi: tuple[float, float] | None = None
    nclx: Mapping[str, Any] | None = None
    """Colour space of a HEIC picture without a profile, as pillow-heif names its parts."""


@dataclass(frozen=True)
class Photo:
    """A picture with all that restoring must not lose."""

    pixels: NDArray[Any]
    """(height, width, 3), RGB, uint8 or uint16 as in the file; grey as three equal channels."""
    alpha: NDArray[Any] | None = None
    """(height, width), of the same type."""
    grey: bool = False
    metadata: Metadata = Metadata()
    losses: tuple[str, ...] = ()
    """What reading could not keep, for people."""


LazyPhoto = Callable[[], Photo]


@dataclass(frozen=True)
class Inbox:
    """Pictures to restore, by name."""

    fingerprint: str
    place: str
    """Where they are, for people."""
    pictures: Mapping[str, LazyPhoto]
