"""PSNR and SSIM in the flavours that published tables use.

They differ in windows, borders, colours and rounding, by more than most papers report as progress;
`idemnet.evaluation.protocols` defines which data set uses which.
"""

import math
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from idemnet.errors import BadInputError
from idemnet.imaging.image import Image

Values = NDArray[Any]
"""(height, width) or (height, width, 3), integers or floats."""

SIGMA, RADIUS = 1.5, 5
UNIFORM_RADIUS = 3
BAND = 64
"""Rows computed at a time: they fit into a core's cache, and large pictures need little memory"""

GAUSSIAN = cv2.getGaussianKernel(2 * RADIUS + 1, SIGMA)


def _mixing() -> NDArray[np.float64]:
    """Return the matrix of the Gaussian along three channels, with repeated border."""
    mixing = np.zeros((3, 3))
    for channel in range(3):
        for offset in range(-RADIUS, RADIUS + 1):
            mixing[channel, min(max(channel + offset, 0), 2)] += GAUSSIAN[offset + RADIUS, 0]
    return mixing


CHANNEL_MIXING = _mixing()


HIGHEST_PSNR = 100.0
"""In dB. Identical images have an infinite PSNR, which cannot be averaged or written as JSON, so
scores are capped at this value."""


def psnr(restored: Values, reference: Values, data_range: float = 255.0) -> float:
    """Return the peak signal-to-noise ratio in dB; infinite for identical images."""
    error = cv2.norm(restored, reference, cv2.NORM_L2SQR) / reference.size
    return decibels(error, data_range)


def decibels(error: float, data_range: float) -> float:
    """Convert a mean squared error to PSNR."""
    return math.inf if error == 0 else 10 * math.log10(data_range**2 / error)


def cap_psnr(decibels: float) -> float:
    """Cap a PSNR at `HIGHEST_PSNR`; NaN stays NaN."""
    return min(decibels, HIGHEST_PSNR)


def gain(before: float, after: float) -> float:
    """Return the gain of restoring over the input, from both PSNRs in dB."""
    return after - before


def loss(curve: Sequence[float]) -> float:
    """Return the loss by repeated passes, from the PSNR in dB of each."""
    return curve[0] - curve[-1]


def mean_change(before: Values, after: Values) -> float:
    """Return the mean absolute difference, in the units of the images."""
    return cv2.norm(before, after, cv2.NORM_L1) / before.size


def sharpness(image: Values) -> float:
    """Return the mean difference of neighbouring pixels.

    Compares versions of one picture only: a picture with more detail, or noise, always has more.
    """
    values = image.astype(np.float32)
    steps = [np.abs(np.diff(values, axis=axis)) for axis in (0, 1)]
    return float(np.mean([step.mean() if step.size else 0 for step in steps]))


def ssim(restored: Values, reference: Values, data_range: float = 255.0) -> float:
    """Return SSIM with an 11x11 Gaussian window, sigma 1.5, where it fits into the image.

    As scikit-image with `gaussian_weights=True, use_sample_covariance=False`; on one channel, as
    Wang's ssim_index.m.
    """
    return float(ssim_map(restored, reference, data_range).mean(dtype=np.float64))


def ssim_map(restored: Values, reference: Values, data_range: float = 255.0) -> Values:
    """Return the SSIM of every window that fits: 5 pixels fewer on each side than the images."""
    _check_size(reference, RADIUS)
    moments = _gaussian_moments(restored, reference, data_range)
    return _similarity(moments, data_range, data_range / 2)


def ssim_matlab(restored: Image, reference: Image) -> float:
    """Return MATLAB's ssim() of two 8-bit RGB images, which it treats as volumes of depth 3.

    The window is a Gaussian of 11x11x11 and the border is repeated, along the colours too.
    """
    return SsimReference(reference).ssim_matlab(restored)


class SsimReference:
    """Computes both SSIMs of 8-bit RGB images with one reference, whose moments are shared.

    The two windows differ only in the border and, along the channels, by a small matrix. Images
    are processed in bands of rows, which fit into a core's cache.
    """

    def __init__(self, reference: Image) -> None:
        _check_size(reference, RADIUS)
        self._reference = _widen(reference)
        self._mean = _gaussian(self._reference)
        self._square = _gaussian(self._reference * self._reference)
        self._shape = reference.shape

    def ssim(self, restored: Image) -> float:
        """Return `ssim`."""
        height, width = self._shape[:2]
        edge = slice(RADIUS, -RADIUS)
        total = 0.0
        for top in range(RADIUS, height - RADIUS, BAND):
            rows = slice(top, min(top + BAND, height - RADIUS))
            moments = [moment[:, edge] for moment in self._moments(restored, rows)]
            total += _similarity(moments, 255.0, 127.5).sum(dtype=np.float64)
        return float(total / (3 * (height - 2 * RADIUS) * (width - 2 * RADIUS)))

    def ssim_matlab(self, restored: Image) -> float:
        """Return `ssim_matlab`."""
        height, width = self._shape[:2]
        total = 0.0
        for top in range(0, height, BAND):
            moments = self._moments(restored, slice(top, min(top + BAND, height)))
            mixed = [np.asarray(cv2.transform(moment, CHANNEL_MIXING)) for moment in moments]
            total += _similarity(mixed, 255.0, 127.5).sum(dtype=np.float64)
        return float(total / (3 * height * width))

    def _moments(self, restored: Image, rows: slice) -> list[Values]:
        """Return `_gaussian_moments` of windows around these rows, with repeated border."""
        height = self._shape[0]
        first, last = max(rows.start - RADIUS, 0), min(rows.stop + RADIUS, height)
        above, below = first - rows.start + RADIUS, rows.stop + RADIUS - last
        x = _widen(restored[first:last], above, below)
        y = self._reference[rows.start : rows.stop + 2 * RADIUS]
        squares = _gaussian(x * x)
        squares += self._square[rows]
        return [_gaussian(x), self._mean[rows], squares, _gaussian(x * y)]


def _widen(image: Image, above: int = RADIUS, below: int = RADIUS) -> Values:
    """Repeat the border and subtract mid-grey (see `_gaussian_moments`)."""
    wide = cv2.copyMakeBorder(image, above, below, RADIUS, RADIUS, cv2.BORDER_REPLICATE)
    return np.subtract(wide, np.float32(127.5), dtype=np.float32)


def _gaussian(values: Values) -> Values:
    """Apply the Gaussian where its window fits."""
    filtered = np.asarray(cv2.sepFilter2D(values, cv2.CV_32F, GAUSSIAN, GAUSSIAN))
    return filtered[RADIUS:-RADIUS, RADIUS:-RADIUS]


def ssim_uniform(restored: Values, reference: Values, data_range: float) -> float:
    """Return SSIM with a uniform 7x7 window and sample covariance, scikit-image's default."""
    _check_size(reference, UNIFORM_RADIUS)
    side = 2 * UNIFORM_RADIUS + 1
    x, y = np.asarray(restored, np.float64), np.asarray(reference, np.float64)
    inside = slice(UNIFORM_RADIUS, -UNIFORM_RADIUS)
    moments = [
        np.asarray(cv2.blur(moment, (side, side)))[inside, inside]
        for moment in (x, y, x * x + y * y, x * y)
    ]
    similar = _similarity(moments, data_range, 0.0, unbiased=side**2 / (side**2 - 1))
    return float(similar.mean())


def masked_psnr(
    restored: Values, reference: Values, mask: Values, data_range: float = 1.0
) -> float:
    """Return PSNR over the pixels where the mask, (height, width), is 1."""
    squares = np.square(np.subtract(restored, reference, dtype=np.float64)).mean(axis=2)
    return decibels(float((squares * mask).sum() / mask.sum()), data_range)


def masked_ssim(
    restored: Values, reference: Values, mask: Values, data_range: float = 1.0
) -> float:
    """Return Gaussian SSIM over these pixels, except for 5 at the border."""
    outside = mask[:, :, None]
    similar = ssim_map(restored * outside, reference * outside, data_range).mean(axis=2)
    inside = mask[RADIUS:-RADIUS, RADIUS:-RADIUS]
    return float((similar * inside).sum(dtype=np.float64) / inside.sum())


def matlab_y(image: Image) -> Image:
    """Return luma as MATLAB's rgb2ycbcr does for 8 bits: 16 (black) to 235 (white), rounded."""
    weighted = image @ (np.array([65.481, 128.553, 24.966]) / 255)
    return np.floor(weighted + 16.5).astype(np.uint8)


def _check_size(image: Values, radius: int) -> None:
    height, width = image.shape[:2]
    if min(height, width) <= 2 * radius:
        window = f"{2 * radius + 1}x{2 * radius + 1}"
        raise BadInputError(f"{width}x{height} pixels are fewer than SSIM's window of {window}")


def _gaussian_moments(restored: Values, reference: Values, data_range: float) -> list[Values]:
    """Return the Gaussian means of x, y, x^2 + y^2 and xy relative to mid-grey.

    Relative to mid-grey, because float32 loses small variances next to large squares.
    """
    middle = np.float32(data_range / 2)
    x, y = restored.astype(np.float32) - middle, reference.astype(np.float32) - middle
    return [_gaussian(moment) for moment in (x, y, x * x + y * y, x * y)]


def _similarity(
    moments: Sequence[Values], data_range: float, middle: float, unbiased: float = 1.0
) -> Values:
    """Compare brightness and structure (Wang et al. 2004, equation 13).

    In place wherever possible: allocating arrays would take longer than the arithmetic.
    """
    x, y, squares, product = moments
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    means = x * y
    powers = x * x
    powers += y * y
    covariance = product - means
    covariance *= 2 * unbiased
    covariance += c2
    variances = squares - powers
    variances *= unbiased
    variances += c2
    # Luminance is relative to black: (x + m)(y + m) = xy + m (x + y) + m^2.
    brighter = x + y
    brighter *= 2 * middle
    brighter += 2 * middle**2 + c1
    means *= 2
    means += brighter
    powers += brighter
    means *= covariance
    powers *= variances
    means /= powers
    return means
