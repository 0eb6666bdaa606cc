"""Motion of a hand-held camera and of objects, at 240 fps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Path = Callable[[float], float]
"""Maps time, in frames, to a value."""

HAND = (0.004, 0.036)
"""Frequencies of hand shake, in cycles per frame: 1 to 9 Hz at 240 fps."""
DRIFT = (0.001, 0.006)
"""Frequencies of object motion, in cycles per frame: almost straight within a sequence."""


def smooth_path(
    rng: np.random.Generator,
    speed: float,
    middle: float,
    band: tuple[float, float] = HAND,
    start: float = 0.0,
) -> Path:
    """Draw a path that is at `start` at time `middle`; `speed` is its mean change per frame.

    It is a sum of sine waves within `band` (cycles per frame), so its velocity is continuous.
    """
    rate = 2 * np.pi * np.exp(rng.uniform(np.log(band[0]), np.log(band[1]), size=4))
    phase = rng.uniform(0, 2 * np.pi, size=4)
    amplitude = speed * np.sqrt(2 / 4) / rate

    def waves(moment: float) -> float:
        return float(np.sum(amplitude * np.sin(rate * moment + phase)))

    offset = start - waves(middle)
    return lambda moment: offset + waves(moment)


@dataclass(frozen=True)
class Pose:
    """Pose of an object, or of the camera's view, at one moment."""

    shift: NDArray[np.float64]
    """(x, y) in pixels."""
    angle: float
    """In radians."""
    scale: float

    @property
    def linear(self) -> NDArray[np.float64]:
        """Return the 2 x 2 matrix that rotates and scales."""
        cos, sin = self.scale * np.cos(self.angle), self.scale * np.sin(self.angle)
        return np.array([[cos, -sin], [sin, cos]])


@dataclass(frozen=True)
class Mover:
    """A path for each component of a pose."""

    x: Path
    y: Path
    angle: Path
    growth: Path
    """Logarithm of the scale."""

    def at(self, moment: float) -> Pose:
        shift = np.array([self.x(moment), self.y(moment)])
        return Pose(shift, self.angle(moment), float(np.exp(self.growth(moment))))


@dataclass(frozen=True)
class Camera:
    """A hand-held camera: it rotates, which moves all objects alike, and sways, with parallax."""

    view: Mover
    sway: tuple[Path, Path]
    """Translation in pixels at depth 1; objects at half the distance move twice as much."""

    def sway_at(self, moment: float) -> NDArray[np.float64]:
        return np.array([path(moment) for path in self.sway])


def draw_camera(rng: np.random.Generator, speed: float, middle: float, reach: float) -> Camera:
    """Draw a camera that shakes by about `speed` pixels per frame.

    Scenes differ in the direction and frequency of the shake, and in the share of rolling (as fast
    as panning at most `reach` pixels from the middle) and of moving back and forth.
    """
    direction = rng.uniform(0, 2 * np.pi)
    along = speed * np.abs([np.cos(direction), np.sin(direction)]) + 0.15 * speed
    band = (HAND[0], HAND[1] * rng.uniform(0.4, 1.0))
    # Off the pixel grid; otherwise only the middle frame would not be interpolated.
    x, y = (smooth_path(rng, v, middle, band, rng.uniform(-0.5, 0.5)) for v in along)
    roll = smooth_path(
        rng, speed * rng.uniform(0.1, 0.9) / reach, middle, band, rng.normal(0, 0.02)
    )
    zoom = smooth_path(rng, speed * rng.uniform(0.05, 0.5) / reach, middle, band)
    sway = 0.12 * speed
    paths = smooth_path(rng, sway, middle, band), smooth_path(rng, sway, middle, band)
    return Camera(Mover(x, y, roll, zoom), paths)
