"""Evaluating pictures of 1280x720 with a network that costs nothing: what scoring itself takes.

Promises: at most 1.3x the time of decoding them and computing scikit-image's SSIM and PSNR on the
same cores; and the peak memory for 10 times as many within 10%.

Two things are timed. `scores`: PSNR and both SSIMs, before and after, which is what a table needs.
`everything`: repeat curve, iterations and noise too, which score each picture 22 times. The bar is
that of the first; the second is printed beside scikit-image's time for as many scores.
"""

import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

import cv2
import numpy as np
from memory import peak
from promise import Promise, note, report, take_turns, timed
from skimage.metrics import peak_signal_noise_ratio, structural_similarity
from torch import Tensor, nn

from idemnet.evaluation.job import EvaluationJob
from idemnet.inference.network import Network
from idemnet.media.image_files import ImageFile, write_image
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.steps.data import Pair
from idemnet.system.resources import cores

IMAGES, ROUNDS, SCORES = 10, 3, 22


class Identity(nn.Module):
    def forward(self, image: Tensor) -> Tensor:
        return image

    def iterate(self, image: Tensor) -> list[Tensor]:
        return [image]


class FreeNetwork(Network):
    def build(self, device: str) -> nn.Module:
        return Identity()


def make_pairs(place: Path, count: int) -> tuple[Pair, ...]:
    """Draw soft shapes with some noise, and smear them."""
    random = np.random.default_rng(0)
    pairs = []
    for number in range(count):
        shapes = random.integers(0, 256, (45, 80, 3), np.uint8)
        clean = np.asarray(cv2.resize(shapes, (1280, 720), interpolation=cv2.INTER_CUBIC), np.int16)
        clean = (clean + random.integers(-6, 7, clean.shape)).clip(0, 255)
        sharp = clean.astype(np.uint8)
        blurred = np.asarray(cv2.blur(sharp, (15, 3)), np.uint8)
        files = []
        for kind, image in (("blurred", blurred), ("sharp", sharp)):
            name = f"{kind}/{number}.png"
            files.append(ImageFile(place / name, name, *write_image(place, name, image)))
        pairs.append(Pair("test", "s", str(number), 11, 720, 1280, *files))
    return tuple(pairs)


def evaluate(pairs: tuple[Pair, ...], detailed: int) -> None:
    parameters = EvaluateParameters(protocol="gopro", detailed_images=detailed, device="cpu")
    job = EvaluationJob(pairs, FreeNetwork("identity", {}, {}), parameters, "cpu")
    for _ in job.make([name for name in job.names if name.startswith("image")]):
        pass


def decode_and_compare(pair: Pair) -> tuple[float, float]:
    blurred, sharp = pair.degraded(), pair.clean()
    ssim = structural_similarity(  # type: ignore[no-untyped-call]
        sharp, blurred, channel_axis=2, gaussian_weights=True, use_sample_covariance=False
    )
    psnr = peak_signal_noise_ratio(sharp, blurred)  # type: ignore[no-untyped-call]
    return psnr, ssim


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        pairs = make_pairs(Path(place), IMAGES)
        with ProcessPoolExecutor(cores()) as pool:
            list(pool.map(decode_and_compare, pairs[: cores()]))  # imports are nobody's time
            note("scores, scikit-image:")
            rows = take_turns(
                ROUNDS,
                lambda: evaluate(pairs, 1),
                lambda: list(pool.map(decode_and_compare, pairs)),
            )
        everything = timed(lambda: evaluate(pairs, IMAGES))
    few = median(peak(__file__, "4") for _ in range(3))
    many = peak(__file__, "40")
    note(f"4 images {few:.0f} MB, 40 images {many:.0f} MB")
    report(
        Promise(
            "evaluation without a network (PSNR and both SSIMs, before and after), against "
            "decoding and scikit-image's PSNR and SSIM: time",
            [scores / theirs for scores, theirs in rows],
            at_most=1.3,
        ),
        Promise(
            "… of everything that is measured, for as many scores",
            [everything / theirs / SCORES for _, theirs in rows],
        ),
        Promise("peak memory of evaluation, with 10 times the images", [many / few], at_most=1.1),
    )


if __name__ == "__main__":
    if len(sys.argv) == 2:
        with tempfile.TemporaryDirectory() as folder:
            few_or_many = make_pairs(Path(folder), int(sys.argv[1]))
            evaluate(few_or_many, len(few_or_many))
    else:
        main()
