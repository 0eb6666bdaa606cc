"""Pictures for the page: what restoring changed, where it helped and harmed most, as data URIs."""

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.image import Image, StoredImage

LARGEST = 1280
"""Longest side of a picture on the page."""
BUDGET = 8_000_000
"""Characters that all large pictures together may have; the whole page has to stay below 15 MB."""
RUNGS = ((1280, 88), (1280, 75), (960, 70), (640, 60), (480, 50))
"""Longest side and quality, tried in turn until the pictures fit."""


@dataclass(frozen=True)
class Window:
    """A square part of an image, and what restoring gained in it (dB)."""

    top: int
    left: int
    side: int
    gain: float

    def cut(self, image: Image) -> Image:
        return image[self.top : self.top + self.side, self.left : self.left + self.side]


def read(picture: StoredImage) -> Image:
    """Decode a picture; grey becomes three equal channels."""
    image = np.asarray(picture(), np.uint8)
    if image.ndim == 2:
        image = image[:, :, None]
    return np.ascontiguousarray(np.broadcast_to(image, (*image.shape[:2], 3)))


def find_windows(degraded: Image, restored: Image, clean: Image) -> tuple[Window, Window]:
    """Find where restoring took away most of the squared error, and where least or added to it."""
    side = window_side(*clean.shape[:2])
    before, after = _local_error(degraded, clean, side), _local_error(restored, clean, side)
    saved = before - after
    best, worst = (
        np.unravel_index(int(place), saved.shape) for place in (saved.argmax(), saved.argmin())
    )
    return _window(best, side, before, after), _window(worst, side, before, after)


def window_side(height: int, width: int) -> int:
    """Choose a side in which things can be told apart, yet every pixel seen."""
    return min(height, width, max(40, min(96, min(height, width) // 6)))


def psnr(image: Image, clean: Image) -> float:
    """Of a crop; two that are the same have as many dB as the protocols let an image have."""
    error = float(np.square(image.astype(np.float64) - clean).mean())
    return min(100.0, 10 * math.log10(255**2 / error)) if error else 100.0


def to_png(image: Image) -> str:
    """Encode exactly; for crops, of which every pixel is looked at."""
    return _uri("png", cv2.imencode(".png", _bgr(image), [cv2.IMWRITE_PNG_COMPRESSION, 9])[1])


def to_webp(images: Sequence[Image], rungs: Sequence[tuple[int, int]] = RUNGS) -> list[str]:
    """Encode all with one quality, the best that keeps the page small enough."""
    uris: list[str] = []
    for side, quality in rungs:
        uris = [_webp(shrink(image, side), quality) for image in images]
        if sum(map(len, uris)) <= BUDGET:
            break
    return uris


def shrink(image: Image, longest: int = LARGEST) -> Image:
    """Make an image no larger than it is looked at."""
    height, width = image.shape[:2]
    scale = longest / max(height, width)
    if scale >= 1:
        return image
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)


def _local_error(image: Image, clean: Image, side: int) -> NDArray[np.float64]:
    """Mean squared error of every window, by its upper left corner."""
    squares = np.square(image.astype(np.float64) - clean).mean(axis=2)
    sums = np.pad(squares.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    windows = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    errors: NDArray[np.float64] = np.maximum(windows, 0) / side**2
    return errors


def _window(
    place: tuple[np.intp, ...], side: int, before: NDArray[np.float64], after: NDArray[np.float64]
) -> Window:
    # A crop without any error has infinitely many dB: count as in `psnr`.
    floor = 255**2 / 10**10
    gain = 10 * math.log10(max(floor, before[place]) / max(floor, after[place]))
    return Window(int(place[0]), int(place[1]), side, gain)


def _webp(image: Image, quality: int) -> str:
    return _uri("webp", cv2.imencode(".webp", _bgr(image), [cv2.IMWRITE_WEBP_QUALITY, quality])[1])


def _bgr(image: Image) -> Image:
    return np.ascontiguousarray(image[:, :, ::-1])


def _uri(kind: str, content: NDArray[np.uint8]) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content.tobytes()).decode()}"
