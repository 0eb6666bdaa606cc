"""Pictures for the page as data URIs: differences, best and worst regions."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.image import Image, StoredImage
from idemnet.imaging.metrics import cap_psnr, decibels, gain

LARGEST = 1280
"""Longest side of a picture on the page."""
BUDGET = 8_000_000
"""Budget of all large pictures in characters; the whole page must stay below 15 MB."""
RUNGS = ((1280, 88), (1280, 75), (960, 70), (640, 60), (480, 50))
"""Longest side and quality, tried in this order until the pictures fit."""


@dataclass(frozen=True)
class Window:
    """A square part of an image, and its gain in dB."""

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
    """Find the windows where restoring reduced the squared error most and least."""
    side = window_side(*clean.shape[:2])
    before, after = _local_error(degraded, clean, side), _local_error(restored, clean, side)
    saved = before - after
    best, worst = (
        np.unravel_index(int(place), saved.shape) for place in (saved.argmax(), saved.argmin())
    )
    return _window(best, side, before, after), _window(worst, side, before, after)


def window_side(height: int, width: int) -> int:
    """Return a window side that shows objects, yet every pixel."""
    return min(height, width, max(40, min(96, min(height, width) // 6)))


def to_png(image: Image) -> str:
    """Encode losslessly, for crops that are shown pixel by pixel."""
    return _uri("png", cv2.imencode(".png", _bgr(image), [cv2.IMWRITE_PNG_COMPRESSION, 9])[1])


def to_webp(images: Sequence[Image], rungs: Sequence[tuple[int, int]] = RUNGS) -> list[str]:
    """Encode all pictures with the best quality that fits the budget."""
    uris: list[str] = []
    for side, quality in rungs:
        uris = [_webp(shrink(image, side), quality) for image in images]
        if sum(map(len, uris)) <= BUDGET:
            break
    return uris


def shrink(image: Image, longest: int = LARGEST) -> Image:
    """Reduce an image to its display size."""
    height, width = image.shape[:2]
    scale = longest / max(height, width)
    if scale >= 1:
        return image
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)


def _local_error(image: Image, clean: Image, side: int) -> NDArray[np.float64]:
    """Return the mean squared error of every window, by its top left corner."""
    squares = np.square(image.astype(np.float64) - clean).mean(axis=2)
    sums = np.pad(squares.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    windows = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    errors: NDArray[np.float64] = np.maximum(windows, 0) / side**2
    return errors


def _window(
    place: tuple[np.intp, ...], side: int, before: NDArray[np.float64], after: NDArray[np.float64]
) -> Window:
    psnr = (cap_psnr(decibels(float(error[place]), 255)) for error in (before, after))
    return Window(int(place[0]), int(place[1]), side, gain(*psnr))


def _webp(image: Image, quality: int) -> str:
    return _uri("webp", cv2.imencode(".webp", _bgr(image), [cv2.IMWRITE_WEBP_QUALITY, quality])[1])


def _bgr(image: Image) -> Image:
    return np.ascontiguousarray(image[:, :, ::-1])


def _uri(kind: str, content: NDArray[np.uint8]) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content.tobytes()).decode()}"
