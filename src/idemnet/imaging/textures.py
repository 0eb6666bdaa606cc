"""Textures: photographs, and procedural textures in colours of photographs.

All are sharp to the pixel, without aliasing.
"""

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.image import Image

Texture = Callable[[np.random.Generator, int, int, Image], Image]
"""(rng, height, width, palette) -> picture; the palette is a list of colours, (n, 3)."""

FINE = 2
"""Supersampling of procedural textures, for antialiased edges."""


def photograph_texture(
    rng: np.random.Generator, height: int, width: int, photograph: Image
) -> Image:
    """Return a random part of a photograph, reduced, flipped and relit.

    It is never enlarged, since that would leave no detail; it may be smaller than requested.
    """
    rows, columns = photograph.shape[:2]
    cover = max(height / rows, width / columns)
    scale = rng.uniform(min(1.0, max(0.5, cover)), min(1.0, max(0.75, cover)))
    size = max(1, round(columns * scale)), max(1, round(rows * scale))
    picture = cv2.resize(photograph, size, interpolation=cv2.INTER_AREA)
    part = _busiest(rng, np.asarray(picture, np.uint8), height, width)
    return _relight(rng, part[:, ::-1] if rng.random() < 0.5 else part)


def _busiest(rng: np.random.Generator, picture: Image, height: int, width: int) -> Image:
    """Return the candidate with most detail: blur cannot be seen in a clear sky."""
    tops = rng.integers(0, max(0, picture.shape[0] - height) + 1, size=5)
    lefts = rng.integers(0, max(0, picture.shape[1] - width) + 1, size=5)
    parts = [picture[y : y + height, x : x + width] for y, x in zip(tops, lefts, strict=True)]
    return max(parts, key=lambda part: float(np.abs(cv2.Laplacian(part, cv2.CV_16S)).mean()))


def _relight(rng: np.random.Generator, picture: Image) -> Image:
    """Vary exposure, contrast and white balance slightly."""
    values = np.arange(256) / 255
    balance = rng.uniform(0.92, 1.04, size=3) * rng.uniform(0.85, 1.0)
    curve = (values ** rng.uniform(0.75, 1.15))[:, None] * balance
    table = np.clip(curve * 255 + 0.5, 0, 255).astype(np.uint8)
    return np.stack([table[picture[..., c], c] for c in range(3)], axis=-1)


def palette_of(rng: np.random.Generator, photograph: Image, colours: int = 64) -> Image:
    """Pick colours of a photograph, spread evenly between light and dark."""
    pixels = photograph.reshape(-1, 3)[rng.integers(0, photograph[..., 0].size, colours)]
    grey = pixels.mean(axis=1, keepdims=True)
    ranks = np.argsort(np.argsort(grey[:, 0], kind="stable"), kind="stable")[:, None]
    spread = 0.8 * (pixels - grey) + 0.3 * grey + 0.7 * (40 + 150 * ranks / colours)
    return np.asarray(np.clip(spread, 0, 255), np.uint8)


def dead_leaves(rng: np.random.Generator, height: int, width: int, palette: Image) -> Image:
    """Draw overlapping shapes of all sizes (dead leaves model)."""
    picture = np.full((height * FINE, width * FINE, 3), palette[0], np.uint8)
    smallest, largest = 3.0, max(6.0, 0.25 * min(height, width))
    count = height * width // 50
    # Density falls with the cube of the size: scale invariant.
    share = rng.random(count)
    radii = (share * largest**-2 + (1 - share) * smallest**-2) ** -0.5
    centres = rng.uniform(0, (width, height), size=(count, 2))
    for radius, centre in zip(radii, centres, strict=True):
        corners = _leaf(rng, radius) + centre
        _fill(picture, corners, palette[rng.integers(len(palette))])
    return _finish(rng, picture)


def _leaf(rng: np.random.Generator, radius: float) -> NDArray[np.float64]:
    corners = int(rng.choice([3, 4, 5, 16]))
    turn = np.arange(corners) * 2 * np.pi / corners + rng.uniform(0, 2 * np.pi)
    ellipse = radius * np.stack([np.cos(turn), rng.uniform(0.35, 1.0) * np.sin(turn)], axis=1)
    angle = rng.uniform(0, np.pi)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.asarray(ellipse @ np.array([[cos, sin], [-sin, cos]]))


def signs(rng: np.random.Generator, height: int, width: int, palette: Image) -> Image:
    """Draw a wall of posters with lines of illegible text."""
    picture = np.full((height * FINE, width * FINE, 3), palette[0], np.uint8)
    for _ in range(12 + height * width // 2500):
        size = rng.uniform(0.25, 0.6, size=2) * (width, height)
        corner = rng.uniform(-0.1, 0.9, size=2) * (width, height)
        paper, ink = palette[rng.integers(len(palette), size=2)]
        if abs(float(paper.mean() - ink.mean())) < 60:  # text too similar to its background
            ink = np.where(paper.mean() > 110, paper // 3, 130 + paper // 2)
        _fill(picture, corner + size * [[0, 0], [1, 0], [1, 1], [0, 1]], paper)
        _write(rng, picture, corner, size, ink)
    return _finish(rng, picture)


def _write(
    rng: np.random.Generator,
    picture: Image,
    corner: NDArray[np.float64],
    size: NDArray[np.float64],
    ink: Image,
) -> None:
    """Fill a poster with lines of letters, each a stroke over the corners of a small grid."""
    letter = rng.uniform(6, 18)
    step = letter * np.array([0.8, 1.5])
    columns, rows = ((size - letter) / step).astype(int)
    for row in range(rows):
        for column in range(columns):
            if rng.random() < 0.15:
                continue  # between words
            nodes = rng.integers(0, 3, size=(4, 2)) * letter * [0.27, 0.5]
            stroke = corner + 0.5 * letter + step * [column, row] + nodes
            points = np.round(stroke * FINE).astype(np.int32)
            thickness = max(1, round(0.13 * letter * FINE))
            cv2.polylines(picture, [points], False, ink.tolist(), thickness, cv2.LINE_AA)


def facade(rng: np.random.Generator, height: int, width: int, palette: Image) -> Image:
    """Draw a facade: rows of windows with frames and bars, each with its own reflection."""
    wall, trim = palette[rng.integers(len(palette), size=2)]
    picture = np.full((height * FINE, width * FINE, 3), wall, np.uint8)
    cell = rng.uniform(18, 42, size=2)
    bars = int(rng.integers(1, 4))
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    for y in np.arange(0, height, cell[1]):
        picture[round(y * FINE) : round(y * FINE) + FINE] = trim
        for x in np.arange(0, width, cell[0]):
            corner = np.array([x, y]) + 0.15 * cell
            _fill(picture, corner + 0.75 * cell * square, trim)
            for bar in range(bars):
                pane = corner + cell * [0.06 + 0.65 * bar / bars, 0.06]
                glass = palette[rng.integers(len(palette))]
                _fill(picture, pane + cell * [0.55 / bars, 0.63] * square, glass)
    return _finish(rng, picture)


def _fill(picture: Image, corners: NDArray[np.float64], colour: Image) -> None:
    points = np.round(corners * FINE * 16).astype(np.int32)
    cv2.fillConvexPoly(picture, points, colour.tolist(), cv2.LINE_AA, shift=4)


def _finish(rng: np.random.Generator, drawing: Image) -> Image:
    """Downsample a drawing; add grain and uneven light."""
    height, width = drawing.shape[0] // FINE, drawing.shape[1] // FINE
    picture = cv2.resize(drawing, (width, height), interpolation=cv2.INTER_AREA)
    light = np.ones((height, width), np.float32)
    for size, strength in ((2, 0.06), (4, 0.05), (16, 0.06), (100, 0.12)):
        light += strength * _noise(rng, height, width, size)
    return np.asarray(np.clip(picture * light[..., None] + 0.5, 0, 255), np.uint8)


def _noise(rng: np.random.Generator, height: int, width: int, size: int) -> NDArray[np.float32]:
    """Return smooth noise with spots `size` pixels wide."""
    coarse = rng.standard_normal((height // size + 2, width // size + 2), np.float32)
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.asarray(smooth, np.float32)


PROCEDURAL: tuple[Texture, ...] = (dead_leaves, signs, facade)
