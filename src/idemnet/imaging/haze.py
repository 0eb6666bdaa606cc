"""Haze: light scattered on its way to the camera, more with distance."""

import numpy as np

from idemnet.imaging.image import Depth, Image
from idemnet.parameters.synthesize import HazeParameters


def make_hazy(
    image: Image, depth: Depth, haze: HazeParameters, strength: float, rng: np.random.Generator
) -> Image:
    """Add haze; `strength`, from 0 to 1, interpolates the range of densities.

    Airlight is drawn independently: thin haze may be bright and thick haze dull.
    """
    beta = float(np.interp(strength, (0, 1), haze.beta))
    stretched = np.clip((depth - haze.nearest) / (1 - haze.nearest), 0, 1).astype(np.float32)
    return add_haze(image, stretched, beta, rng.uniform(*haze.airlight))


def add_haze(image: Image, depth: Depth, beta: float, airlight: float) -> Image:
    """Mix the image J with airlight A: I = J t + A (1 - t).

    Works on stored values, as RESIDE does, with the same A for all channels.
    """
    through = transmission(depth, beta)[..., None]
    hazy = image * through + np.float32(255 * airlight) * (1 - through)
    return np.rint(hazy).astype(np.uint8)


def transmission(depth: Depth, beta: float) -> Depth:
    """Return the share t of light that arrives: exp(-beta depth)."""
    arrived: Depth = np.exp(np.float32(-beta) * depth)
    return arrived
