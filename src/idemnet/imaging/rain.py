"""Rain: drops that fall while the shutter is open, each a streak of light.

Streaks are added to the image, which saturates: a drop refracts light from most of the sky, and a
sensor adds up what it receives. Rain100L and Rain100H are made the same way: the added light does
not depend on the background, and no pixel gets darker.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.image import Image
from idemnet.parameters.synthesize import RainParameters

Light = NDArray[np.float32]
"""(height, width); 1 is white."""

VEIL_BRIGHTNESS = 0.75
"""Grey of distant drops, too small to be seen individually."""
KINDS = 8
"""Variation of streaks within a layer, in length and direction."""


@dataclass(frozen=True)
class StreakLayer:
    """Similar streaks at about one distance."""

    angle: float
    """Degrees from the vertical; positive angles lean to the right."""
    length: float
    width: float
    density: float
    """Share of the picture under streaks, not counting overlaps."""
    brightness: float


def make_rainy(
    image: Image, rain: RainParameters, strength: float, rng: np.random.Generator
) -> Image:
    """Add rain; `strength`, from 0 to 1, interpolates the lightest and heaviest rain."""
    layers = draw_layers(rain, strength, rng)
    height, width = image.shape[:2]
    streaks = sum(draw_streaks(layer, height, width, rng) for layer in layers)
    return add_rain(image, np.asarray(streaks, np.float32), rain.veil * strength**2)


def draw_layers(
    rain: RainParameters, strength: float, rng: np.random.Generator
) -> list[StreakLayer]:
    """Draw the parameters of a picture's layers, which share the wind direction."""
    wind = rng.uniform(-rain.slant, rain.slant)
    density = float(np.interp(strength, (0, 1), rain.density))
    layers = []
    for _ in range(round(float(np.interp(strength, (0, 1), rain.layers)))):
        near = rng.random()  # near streaks are longer, wider and fewer
        layers.append(
            StreakLayer(
                angle=wind + rng.normal(0, 6),
                length=float(np.interp(near, (0, 1), rain.length)),
                width=float(np.interp(near, (0, 1), rain.width)),
                density=density * rng.uniform(0.7, 1.3),
                brightness=rng.uniform(*rain.brightness),
            )
        )
    return layers


def draw_streaks(layer: StreakLayer, height: int, width: int, rng: np.random.Generator) -> Light:
    """Draw one layer of streaks, including streaks that enter from outside."""
    kinds = [
        layer.brightness * _streak(layer.angle + turn, layer.length * factor, layer.width)
        for turn, factor in zip(
            rng.normal(0, 1.5, KINDS), rng.uniform(0.6, 1.4, KINDS), strict=True
        )
    ]
    margin = max(len(kind) for kind in kinds)
    light = np.zeros((height + 2 * margin, width + 2 * margin), np.float32)
    area = (height + margin) * (width + margin)
    count = rng.poisson(layer.density * area / (layer.length * layer.width))
    tops, lefts = (rng.integers(0, side + margin, count).tolist() for side in (height, width))
    shares = rng.uniform(0.2, 1.0, count).astype(np.float32)
    for top, left, share, kind in zip(
        tops, lefts, shares, rng.integers(0, KINDS, count).tolist(), strict=True
    ):
        side = len(kinds[kind])
        light[top : top + side, left : left + side] += share * kinds[kind]
    return light[margin:-margin, margin:-margin]


def _streak(angle: float, length: float, width: float) -> Light:
    """Return one streak of brightness 1: Gaussian across, fading towards its ends."""
    reach = int(np.ceil(length / 2 + width))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    turn = np.deg2rad(angle)
    along, across = x * np.sin(turn) - y * np.cos(turn), x * np.cos(turn) + y * np.sin(turn)
    ends = np.clip((length / 2 - np.abs(along)) / (0.3 * length) + 0.5 / length, 0, 1)
    # the width is the full width at half maximum
    return np.asarray(ends * 0.5 ** ((2 * across / width) ** 2), np.float32)


def add_rain(image: Image, streaks: Light, veil: float) -> Image:
    """Blend a share `veil` of grey over the image, then add the streaks."""
    grey = np.maximum(image, np.float32(255 * VEIL_BRIGHTNESS))  # a veil never darkens
    veiled = image + np.float32(veil) * (grey - image)
    return np.rint(np.clip(veiled + 255 * streaks[..., None], 0, 255)).astype(np.uint8)
