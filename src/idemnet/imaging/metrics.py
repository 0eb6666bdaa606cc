"""PSNR and SSIM in the flavours that published tables use.

They differ in windows, borders, colours and rounding, and so by more than most papers claim as
progress; `idemnet.evaluation.protocols` says which data set is scored by which.
"""

import math
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from idemnet.errors import BadInputError
from idemnet.recipes import Image

Values = NDArray[Any]
"""(height, width) or (height, width, 3), integers or floats."""

SIGMA, RADIUS = 1.5, 5
UNIFORM_RADIUS = 3
BAND = 32
"""Rows computed at a time: they stay in a core's cache, and large photographs need little memory"""

GAUSSIAN = cv2.getGaussianKernel(2 * RADIUS + 1, SIGMA)


def _mixing() -> NDArray[np.float64]:
    """Give what the Gaussian does along three channels that go on unchanged beyond both ends."""
    mixing = np.zeros((3, 3))
    for channel in range(3):
        for offset in range(-RADIUS, RADIUS + 1):
            mixing[channel, min(max(channel + offset, 0), 2)] += GAUSSIAN[offset + RADIUS, 0]
    return mixing


CHANNEL_MIXING = _mixing()


def psnr(restored: Values, reference: Values, data_range: float = 255.0) -> float:
    """Peak signal-to-noise ratio of one image, in dB; infinite where both are the same."""
    error = cv2.norm(restored, reference, cv2.NORM_L2SQR) / reference.size
    return decibels(error, data_range)


def decibels(error: float, data_range: float) -> float:
    """Turn a mean squared error into PSNR."""
    return math.inf if error == 0 else 10 * math.log10(data_range**2 / error)


def ssim(restored: Values, reference: Values, data_range: float = 255.0) -> float:
    """SSIM with a Gaussian window of 11x11, sigma 1.5, where the window fits into the image.

    scikit-image's with `gaussian_weights=True, use_sample_covariance=False`; on one channel, that
    of Wang's ssim_index.m.
    """
    return float(ssim_map(restored, reference, data_range).mean(dtype=np.float64))


def ssim_map(restored: Values, reference: Values, data_range: float = 255.0) -> Values:
    """Give the SSIM of every window that fits: 5 pixels fewer on each side than the images."""
    _check_size(reference, RADIUS)
    moments = _gaussian_moments(restored, reference, data_range)
    return _similarity(moments, data_range, data_range / 2)


def ssim_matlab(restored: Image, reference: Image) -> float:
    """MATLAB's ssim() of two 8-bit RGB images, which it takes for volumes three pixels deep.

    The window is a Gaussian of 11x11x11 and the border is repeated, along the colours too.
    """
    return ssim_and_matlab(restored, reference)[1]


def ssim_and_matlab(restored: Image, reference: Image) -> tuple[float, float]:
    """Give `ssim` and `ssim_matlab` of 8-bit RGB images for little more than the price of one.

    The windows are the same but for the border, and along the colours for a small matrix.
    """
    _check_size(reference, RADIUS)
    height, width = reference.shape[:2]
    ours, theirs = _repeat_border(restored), _repeat_border(reference)
    plain = volume = 0.0
    for top in range(0, height, BAND):
        band = slice(top, min(top + BAND, height) + 2 * RADIUS)
        moments = _gaussian_moments(ours[band], theirs[band], 255.0)
        inside = slice(max(RADIUS - top, 0), max(height - RADIUS - top, 0))
        similar = _similarity(moments, 255.0, 127.5)[inside, RADIUS:-RADIUS]
        plain += similar.sum(dtype=np.float64)
        mixed = [np.asarray(cv2.transform(moment, CHANNEL_MIXING)) for moment in moments]
        volume += _similarity(mixed, 255.0, 127.5).sum(dtype=np.float64)
    windows = 3 * (height - 2 * RADIUS) * (width - 2 * RADIUS)
    return float(plain / windows), float(volume / (3 * height * width))


def _repeat_border(image: Image) -> Values:
    return np.asarray(cv2.copyMakeBorder(image, *(RADIUS,) * 4, cv2.BORDER_REPLICATE))


def ssim_uniform(restored: Values, reference: Values, data_range: float) -> float:
    """SSIM with a plain window of 7x7 and sample covariance: what scikit-image does unasked."""
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
    """PSNR over the pixels where the mask, (height, width), is 1 and not 0."""
    squares = np.square(np.subtract(restored, reference, dtype=np.float64)).mean(axis=2)
    return decibels(float((squares * mask).sum() / mask.sum()), data_range)


def masked_ssim(
    restored: Values, reference: Values, mask: Values, data_range: float = 1.0
) -> float:
    """Gaussian SSIM over the same pixels, those but 5 at the border; nothing is seen outside."""
    outside = mask[:, :, None]
    similar = ssim_map(restored * outside, reference * outside, data_range).mean(axis=2)
    inside = mask[RADIUS:-RADIUS, RADIUS:-RADIUS]
    return float((similar * inside).sum(dtype=np.float64) / inside.sum())


def matlab_y(image: Image) -> Image:
    """Brightness as MATLAB's rgb2ycbcr gives it for 8 bits: 16 (black) to 235 (white), rounded."""
    weighted = image @ (np.array([65.481, 128.553, 24.966]) / 255)
    return np.floor(weighted + 16.5).astype(np.uint8)


def _check_size(image: Values, radius: int) -> None:
    height, width = image.shape[:2]
    if min(height, width) <= 2 * radius:
        window = f"{2 * radius + 1}x{2 * radius + 1}"
        raise BadInputError(f"{width}x{height} pixels are fewer than SSIM's window of {window}")


def _gaussian_moments(restored: Values, reference: Values, data_range: float) -> list[Values]:
    """Give the Gaussian means of x, y, x^2 + y^2 and xy, of windows that fit, around mid-grey.

    Around mid-grey, because float32 would lose small variances beside large squares.
    """
    middle = np.float32(data_range / 2)
    x, y = restored.astype(np.float32) - middle, reference.astype(np.float32) - middle
    inside = slice(RADIUS, -RADIUS)
    return [
        np.asarray(cv2.sepFilter2D(moment, cv2.CV_32F, GAUSSIAN, GAUSSIAN))[inside, inside]
        for moment in (x, y, x * x + y * y, x * y)
    ]


def _similarity(
    moments: Sequence[Values], data_range: float, middle: float, unbiased: float = 1.0
) -> Values:
    """Compare brightness and structure (Wang et al. 2004, equation 13)."""
    x, y, squares, product = moments
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    covariance = unbiased * (product - x * y)
    variances = unbiased * (squares - x * x - y * y)
    x, y = x + middle, y + middle
    similar: Values = (2 * x * y + c1) * (2 * covariance + c2)
    similar /= (x * x + y * y + c1) * (variances + c2)
    return similar
