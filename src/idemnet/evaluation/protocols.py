"""How each data set is scored: the agreement behind a figure, printed with it.

The same image differs by 1.4 dB between two of these, and by 0.03 between two SSIMs, so a figure
says nothing without its protocol, and a protocol that is not the data set's is refused.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idemnet.errors import BadInputError
from idemnet.imaging import metrics
from idemnet.imaging.alignment import align
from idemnet.recipes import Image

HIGHEST_PSNR = 100.0
"""In dB. Two images that are the same have infinitely many, with which no mean could be taken and
no JSON written; here they count as this many, as does everything beyond."""

Restored = NDArray[Any]
"""(height, width, 3): uint8, or floats of which 0 is black and 1 is white."""

FITTING: Mapping[str, tuple[str, ...]] = {
    "deblur": ("gopro", "realblur", "rgb"),
    "dehaze": ("rgb", "griddehaze"),
    "derain": ("rain", "rgb"),
}
"""Protocols of each task, its usual one first; a task that is not here has only `rgb`."""


@dataclass(frozen=True)
class Protocol:
    """One agreement on how to score."""

    name: str
    description: str
    """In one line."""
    measures: tuple[str, ...]
    """Names of its scores, in the order in which they are shown."""
    compute: Callable[[Restored, Image], tuple[float, ...]]
    """Of `score`: what is particular to this protocol."""

    def score(self, restored: Restored, reference: Image) -> dict[str, float]:
        """Score one image; every value is finite, PSNR at most `HIGHEST_PSNR`.

        Raises:
            BadInputError: If the images cannot be compared, or a value is not a number.
        """
        if restored.shape != reference.shape or reference.ndim != 3 or reference.shape[2] != 3:
            raise BadInputError(
                f"an image of {_shape(restored)} cannot be compared with one of {_shape(reference)}"
            )
        if restored.dtype != np.uint8 and not np.isfinite(restored).all():
            raise BadInputError("has values that are not finite numbers")
        scores = dict(zip(self.measures, self.compute(restored, reference), strict=True))
        scores["psnr"] = min(scores["psnr"], HIGHEST_PSNR)
        for measure, value in scores.items():
            if not math.isfinite(value):
                raise BadInputError(f"its {measure} is not a finite number")
        return scores


def mean_scores(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Average the scores of images: of PSNR the mean of the dB, never the dB of a mean error."""
    return {name: math.fsum(one[name] for one in scores) / len(scores) for name in scores[0]}


def check_fits(protocol: str, task: str, forced: bool) -> None:
    """Refuse a protocol by which nobody scores this task.

    Raises:
        BadInputError: If it does not fit and is not forced.
    """
    fitting = FITTING.get(task, ("rgb",))
    if protocol in fitting or forced:
        return
    raise BadInputError(
        f"protocol '{protocol}' does not fit task '{task}', which is scored by "
        f"{' or '.join(fitting)}; to use it all the same, set evaluate.force_protocol to true, "
        "or give --force on the command line"
    )


def to_image(restored: Restored) -> Image:
    """Round to 8 bits, as saving to a file does."""
    image: Image = restored
    if restored.dtype != np.uint8:
        image = np.rint(np.clip(restored, 0, 1) * 255).astype(np.uint8)
    return image


def _rgb(restored: Restored, reference: Image) -> tuple[float, ...]:
    rounded = to_image(restored)
    return metrics.psnr(rounded, reference), *metrics.ssim_and_matlab(rounded, reference)


def _realblur(restored: Restored, reference: Image) -> tuple[float, ...]:
    images = align(to_image(restored), reference)
    return metrics.masked_psnr(*images), metrics.masked_ssim(*images)


def _griddehaze(restored: Restored, reference: Image) -> tuple[float, ...]:
    scale = 255.0 if restored.dtype == np.uint8 else 1.0
    pair = restored.astype(np.float64) / scale, reference.astype(np.float64) / 255
    return metrics.psnr(*pair, data_range=1.0), metrics.ssim_uniform(*pair, data_range=1.0)


def _rain(restored: Restored, reference: Image) -> tuple[float, ...]:
    pair = metrics.matlab_y(to_image(restored)), metrics.matlab_y(reference)
    return metrics.psnr(*pair), metrics.ssim(*pair)


def _shape(image: Restored) -> str:
    return "x".join(str(side) for side in image.shape)


_RGB = (
    "RGB rounded to 8 bits, PSNR of each image, then the mean; ssim: Gaussian 11x11, each channel; "
    "ssim_matlab: Gaussian 11x11x11 over the RGB volume"
)

PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol("gopro", f"GoPro: {_RGB}", ("psnr", "ssim", "ssim_matlab"), _rgb),
        Protocol(
            "realblur",
            "RealBlur: RGB rounded to 8 bits, brightness and position aligned with the reference "
            "(one gain, ECC homography), PSNR of each image, then the mean; ssim: Gaussian 11x11, "
            "each channel; both where the aligned image has pixels",
            ("psnr", "ssim"),
            _realblur,
        ),
        Protocol("rgb", _RGB, ("psnr", "ssim", "ssim_matlab"), _rgb),
        Protocol(
            "griddehaze",
            "GridDehazeNet's: RGB as it is, neither rounded nor clipped, PSNR of each image, then "
            "the mean; ssim: uniform 7x7, each channel, data range 1",
            ("psnr", "ssim"),
            _griddehaze,
        ),
        Protocol(
            "rain",
            "Deraining: MATLAB's Y channel (16-235) rounded to 8 bits, PSNR (peak 255) of each "
            "image, then the mean; ssim: Wang's, Gaussian 11x11, on Y",
            ("psnr", "ssim"),
            _rain,
        ),
    )
}
