"""Align exposure and position before scoring, as RealBlur's authors do.

RealBlur's blurred and sharp images come from two cameras: a correct restoration may be slightly
brighter and shifted, so it is first aligned with the reference.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from idemnet.errors import BadInputError
from idemnet.imaging.image import Image

ITERATIONS = 100
SMOOTHING = 5
SMALLEST_OVERLAP = 0.5
"""Smallest share of the image that must overlap; a failed alignment leaves less."""

Values = NDArray[np.float32]


def align(restored: Image, reference: Image) -> tuple[Values, Values, Values]:
    """Match brightness, then position.

    Returns:
        The aligned image and the reference in 0..1, neither clipped, and a mask (height, width)
        that is 1 where the aligned image has pixels and 0 elsewhere.

    Raises:
        BadInputError: If the images cannot be aligned.
    """
    still, moving = _to_unit(reference), _to_unit(restored)
    moving *= _gain(moving, still)
    size = reference.shape[1::-1]
    warp = _find_homography(still, moving)
    aligned = cv2.warpPerspective(
        moving, warp, size, flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REFLECT,
    )  # fmt: skip
    mask = cv2.warpPerspective(
        np.ones(reference.shape[:2], np.float32), warp, size,
        flags=cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_CONSTANT,
    )  # fmt: skip
    if np.mean(mask) < SMALLEST_OVERLAP:
        raise BadInputError("cannot be aligned with its reference")
    return np.asarray(aligned, np.float32), still, np.asarray(mask, np.float32)


def _to_unit(image: Image) -> Values:
    return image.astype(np.float32) / np.float32(255)


def _gain(moving: Values, still: Values) -> float:
    """Return the factor that brings one image closest to the other."""
    energy = np.square(moving, dtype=np.float64).sum()
    if energy == 0:
        raise BadInputError("is black, and cannot be aligned with its reference")
    return float(np.multiply(still, moving, dtype=np.float64).sum() / energy)


def _find_homography(still: Values, moving: Values) -> Values:
    """Maximize the correlation of grey values (Evangelidis and Psarakis 2008)."""
    rule = cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, ITERATIONS, 0.0
    grey, moved = (cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in (still, moving))
    start, everywhere = np.eye(3, dtype=np.float32), np.ones(grey.shape, np.uint8)
    try:
        _, warp = cv2.findTransformECC(
            grey, moved, start, cv2.MOTION_HOMOGRAPHY, rule, everywhere, SMOOTHING
        )
    except cv2.error:  # they are not correlated, or one of them is flat
        raise BadInputError("cannot be aligned with its reference") from None
    if not np.isfinite(warp).all():
        raise BadInputError("cannot be aligned with its reference")
    return np.asarray(warp, np.float32)
