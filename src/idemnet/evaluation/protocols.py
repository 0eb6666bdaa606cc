"""Scoring protocols of the data sets; every score is printed with its protocol.

The same image differs by 1.4 dB between two protocols, and by 0.03 between two SSIMs, so a score
means nothing without its protocol, and a protocol that does not fit the data set is rejected.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idemnet.errors import BadInputError
from idemnet.imaging import metrics
from idemnet.imaging.alignment import align
from idemnet.imaging.image import Image, round_to_8_bits
from idemnet.tasks import get_task

Restored = NDArray[Any]
"""(height, width, 3): uint8, or floats from 0 (black) to 1 (white)."""

Compare = Callable[[Restored, Collection[str]], dict[str, float]]
"""Scores a restored image by the requested measures, which always include PSNR."""


@dataclass(frozen=True)
class Protocol:
    """A scoring protocol."""

    name: str
    description: str
    """In one line."""
    measures: tuple[str, ...]
    """Names of its scores, in display order."""
    prepare: Callable[[Image], Compare]
    """Takes the reference, so that work on it alone is done once."""

    def score(self, restored: Restored, reference: Image) -> dict[str, float]:
        """Score one image; see `against`."""
        return self.against(reference)(restored, self.measures)

    def against(self, reference: Image) -> Compare:
        """Return a function that scores any number of images by this reference.

        It takes the requested measures. Every score is finite, PSNR at most 100 dB.

        Raises:
            BadInputError: When called, if the images cannot be compared, or a score is not finite.
        """
        if reference.ndim != 3 or reference.shape[2] != 3:
            raise BadInputError(f"a reference of {_shape(reference)} is not an RGB image")
        compare = self.prepare(reference)

        def score(restored: Restored, measures: Collection[str]) -> dict[str, float]:
            _check(restored, reference)
            scores = compare(restored, measures)
            scores["psnr"] = metrics.cap_psnr(scores["psnr"])
            for measure, value in scores.items():
                if not math.isfinite(value):
                    raise BadInputError(f"its {measure} is not a finite number")
            return scores

        return score


def _check(restored: Restored, reference: Image) -> None:
    if restored.shape != reference.shape:
        raise BadInputError(
            f"an image of {_shape(restored)} cannot be compared with one of {_shape(reference)}"
        )
    if restored.dtype != np.uint8 and not np.isfinite(restored).all():
        raise BadInputError("has non-finite values")


def mean_scores(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Average the scores of images; for PSNR the mean of the dB, never the dB of a mean error."""
    return {name: mean([one[name] for one in scores]) for name in scores[0]}


def mean(values: Sequence[float]) -> float:
    """Average numbers.

    Raises:
        BadInputError: If one of them is not finite.
    """
    if not all(map(math.isfinite, values)):
        raise BadInputError("cannot average non-finite values")
    return math.fsum(values) / len(values)


def check_fits(protocol: str, task: str, forced: bool) -> None:
    """Reject a protocol that does not belong to this task.

    Raises:
        BadInputError: If it does not fit and is not forced.
    """
    fitting = get_task(task).protocols
    if protocol in fitting or forced:
        return
    raise BadInputError(
        f"protocol '{protocol}' does not fit task '{task}', which is scored by "
        f"{' or '.join(fitting)}; to use it anyway, set evaluate.force_protocol to true, "
        "or pass --force on the command line"
    )


def _rgb(reference: Image) -> Compare:
    similar = metrics.SsimReference(reference)

    def compare(restored: Restored, measures: Collection[str]) -> dict[str, float]:
        rounded = round_to_8_bits(restored)
        scores = {"psnr": metrics.psnr(rounded, reference)}
        if "ssim" in measures:
            scores["ssim"] = similar.ssim(rounded)
        if "ssim_matlab" in measures:
            scores["ssim_matlab"] = similar.ssim_matlab(rounded)
        return scores

    return compare


def _realblur(reference: Image) -> Compare:
    def compare(restored: Restored, measures: Collection[str]) -> dict[str, float]:
        images = align(round_to_8_bits(restored), reference)
        scores = {"psnr": metrics.masked_psnr(*images)}
        return scores | ({"ssim": metrics.masked_ssim(*images)} if "ssim" in measures else {})

    return compare


def _griddehaze(reference: Image) -> Compare:
    exact = reference.astype(np.float64) / 255

    def compare(restored: Restored, measures: Collection[str]) -> dict[str, float]:
        pair = restored.astype(np.float64) / (255 if restored.dtype == np.uint8 else 1), exact
        scores = {"psnr": metrics.psnr(*pair, data_range=1.0)}
        if "ssim" in measures:
            scores["ssim"] = metrics.ssim_uniform(*pair, data_range=1.0)
        return scores

    return compare


def _rain(reference: Image) -> Compare:
    brightness = metrics.matlab_y(reference)

    def compare(restored: Restored, measures: Collection[str]) -> dict[str, float]:
        pair = metrics.matlab_y(round_to_8_bits(restored)), brightness
        scores = {"psnr": metrics.psnr(*pair)}
        return scores | ({"ssim": metrics.ssim(*pair)} if "ssim" in measures else {})

    return compare


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
