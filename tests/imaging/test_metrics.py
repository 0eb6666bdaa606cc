"""PSNR and SSIM are those of scikit-image, MATLAB and Wang, to the fourth digit."""

import csv
import math
import time

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage import metrics as oracle

from idemnet.errors import BadInputError
from idemnet.imaging import metrics
from idemnet.media.image_files import decode_image

CLOSE = {"rel": 0, "abs": 1e-4}
GOLDEN = (36.26324, 0.98949, 0.99680, 0.99370, 38.40386, 0.98854)
"""Of `plain`, from scikit-image, SciPy and the formula of Y."""


def textured(height: int, width: int, seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a smooth picture with hard edges, and a worse one; both reach black and white."""
    rng = np.random.default_rng(seed)
    picture = ndimage.gaussian_filter(rng.normal(0, 400, (height, width, 3)), (2, 2, 0)) + 128
    picture[height // 3 : height // 2] = rng.integers(0, 256, 3)
    worse = picture + rng.normal(0, noise, picture.shape)
    return tuple(np.clip(image, 0, 255).round().astype(np.uint8) for image in (worse, picture))


pictures = st.builds(
    textured,
    st.integers(11, 80), st.integers(11, 80), st.integers(0, 999), st.floats(0.5, 80),
)  # fmt: skip


def plain(height: int = 16, width: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Return two small pictures that can be typed anywhere: no random numbers, no files."""
    y, x, c = np.mgrid[:height, :width, :3]
    reference = (x * 11 + y * 7 + c * 40) % 256
    restored = np.clip(reference + (x * y + c) % 13 - 6, 0, 255)
    return restored.astype(np.uint8), reference.astype(np.uint8)


@settings(max_examples=15, deadline=None)
@given(pictures)
def test_psnr_is_that_of_scikit_image(pair):
    restored, reference = pair
    expected = oracle.peak_signal_noise_ratio(reference, restored)
    assert metrics.psnr(restored, reference) == pytest.approx(expected, **CLOSE)
    floats = metrics.psnr(restored / 255, reference / 255, data_range=1.0)
    assert floats == pytest.approx(expected, **CLOSE)


@settings(max_examples=15, deadline=None)
@given(pictures)
def test_ssim_is_that_of_scikit_image(pair):
    restored, reference = pair
    expected = oracle.structural_similarity(
        reference, restored, channel_axis=2, gaussian_weights=True, sigma=1.5,
        use_sample_covariance=False, data_range=255,
    )  # fmt: skip
    assert metrics.ssim(restored, reference) == pytest.approx(expected, **CLOSE)
    similar = metrics.SsimReference(reference)
    assert similar.ssim(restored) == pytest.approx(expected, **CLOSE)
    assert similar.ssim(reference) == pytest.approx(1, **CLOSE)  # and the next one


@settings(max_examples=15, deadline=None)
@given(pictures)
def test_uniform_ssim_is_what_scikit_image_does_unasked(pair):
    restored, reference = (image / 255 for image in pair)
    restored = 1.2 * restored - 0.1  # what a network gives is not clipped
    expected = oracle.structural_similarity(reference, restored, channel_axis=2, data_range=1)
    found = metrics.ssim_uniform(restored, reference, data_range=1.0)
    assert found == pytest.approx(expected, **CLOSE)


@settings(max_examples=15, deadline=None)
@given(pictures)
def test_ssim_of_matlab_filters_the_volume(pair):
    """The oracle does it the long way: a filter along three axes, in double precision."""
    x, y = (image.astype(float) for image in pair)

    def blur(volume):
        return ndimage.gaussian_filter(volume, 1.5, mode="nearest", radius=5)

    means = blur(x), blur(y)
    variances = blur(x * x) - means[0] ** 2, blur(y * y) - means[1] ** 2
    covariance = blur(x * y) - means[0] * means[1]
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    similar = (2 * means[0] * means[1] + c1) * (2 * covariance + c2)
    similar /= (means[0] ** 2 + means[1] ** 2 + c1) * (sum(variances) + c2)
    assert metrics.ssim_matlab(*pair) == pytest.approx(similar.mean(), **CLOSE)


@pytest.mark.parametrize(("height", "width"), [(11, 11), (31, 40), (33, 12), (37, 20), (64, 11)])
def test_bands_end_where_the_image_does(height, width):
    restored, reference = plain(height, width)
    whole = metrics.ssim(restored, reference)
    assert metrics.SsimReference(reference).ssim(restored) == pytest.approx(whole, abs=1e-6)


def test_bright_flat_pictures_lose_no_digits():
    """Variances of one grey level beside squares of 250: where single precision is short."""
    rng = np.random.default_rng(0)
    restored, reference = rng.integers(249, 252, (2, 60, 70, 3)).astype(np.uint8)
    expected = oracle.structural_similarity(
        reference, restored, channel_axis=2, gaussian_weights=True, sigma=1.5,
        use_sample_covariance=False, data_range=255,
    )  # fmt: skip
    assert metrics.ssim(restored, reference) == pytest.approx(expected, abs=1e-5)


def test_golden_values_of_a_small_picture():
    restored, reference = plain()
    brightness = metrics.matlab_y(restored), metrics.matlab_y(reference)
    found = (
        metrics.psnr(restored, reference),
        metrics.SsimReference(reference).ssim(restored),
        metrics.ssim_matlab(restored, reference),
        metrics.ssim_uniform(restored, reference, 255),
        metrics.psnr(*brightness),
        metrics.ssim(*brightness),
    )
    assert found == pytest.approx(GOLDEN, **CLOSE)


def test_identical_pictures_have_infinite_psnr_and_ssim_of_one():
    _, image = plain()
    assert metrics.psnr(image, image) == math.inf
    assert metrics.SsimReference(image).ssim(image) == pytest.approx(1, abs=1e-6)
    assert metrics.ssim_matlab(image, image) == pytest.approx(1, abs=1e-6)
    assert metrics.ssim_uniform(image, image, 255) == pytest.approx(1)


@pytest.mark.parametrize(
    ("colour", "brightness"),
    [
        ((0, 0, 0), 16),
        ((255, 255, 255), 235),
        ((255, 0, 0), 81),  # 16 + 65.481
        ((0, 255, 0), 145),  # 16 + 128.553, rounded up
        ((0, 0, 255), 41),  # 16 + 24.966
        ((10, 200, 90), 128),  # 16 + 2.568 + 100.826 + 8.812 = 128.206
    ],
)
def test_brightness_is_that_of_matlab(colour, brightness):
    image = np.full((2, 3, 3), colour, np.uint8)
    assert (metrics.matlab_y(image) == brightness).all()
    assert metrics.matlab_y(image).shape == (2, 3)


def test_masked_scores_see_only_the_mask():
    restored, reference = (image / 255 for image in plain(40, 50))
    mask = np.zeros((40, 50))
    mask[:, :30] = 1
    psnr = metrics.psnr(restored[:, :30].copy(), reference[:, :30].copy(), data_range=1)
    ssim = metrics.masked_ssim(restored, reference, mask)
    assert metrics.masked_psnr(restored, reference, mask) == pytest.approx(psnr)
    restored[:, 30:] = 0.5
    assert metrics.masked_psnr(restored, reference, mask) == pytest.approx(psnr)
    assert metrics.masked_ssim(restored, reference, mask) == pytest.approx(ssim)


def test_masked_scores_with_everything_in_the_mask_are_the_plain_ones():
    pair = [image / 255 for image in plain(40, 50)]
    everything = np.ones((40, 50))
    psnr, ssim = metrics.psnr(*pair, data_range=1), metrics.ssim(*pair, data_range=1)
    assert metrics.masked_psnr(*pair, everything) == pytest.approx(psnr)
    assert metrics.masked_ssim(*pair, everything) == pytest.approx(ssim)


def test_a_picture_smaller_than_the_window_is_rejected():
    with pytest.raises(BadInputError, match="20x10 pixels are fewer than SSIM's window of 11x11"):
        metrics.ssim(*plain(10, 20))
    with pytest.raises(BadInputError, match="11x11"):
        metrics.ssim_matlab(*plain(10, 20))
    with pytest.raises(BadInputError, match="7x7"):
        metrics.ssim_uniform(*plain(6, 20), data_range=255)


def test_real_pictures_have_the_golden_values(real):
    with (real / "GOLDEN.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows
    for row in rows:
        image, reference = (
            decode_image((real / row[key]).read_bytes(), row[key]) for key in ("image", "reference")
        )
        similar = metrics.SsimReference(reference)
        brightness = metrics.matlab_y(image), metrics.matlab_y(reference)
        found = {
            "psnr_rgb": metrics.psnr(image, reference),
            "psnr_y_matlab": metrics.psnr(*brightness),
            "ssim_gauss_rgb": similar.ssim(image),
            "ssim_7x7_rgb": metrics.ssim_uniform(image / 255, reference / 255, data_range=1.0),
            "ssim_matlab_3d": similar.ssim_matlab(image),
            "ssim_wang_y": metrics.ssim(*brightness),
        }
        expected = {key: float(row[key]) for key in found}
        assert found == pytest.approx(expected, **CLOSE), row["image"]


def test_both_ssims_take_less_time_than_one_of_scikit_image():
    pair = textured(360, 640, 0, 10)
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)

    def both():
        similar = metrics.SsimReference(pair[1])
        return similar.ssim(pair[0]), similar.ssim_matlab(pair[0])

    try:
        ours = shortest(both)
    finally:
        cv2.setNumThreads(threads)
    theirs = shortest(
        lambda: oracle.structural_similarity(*pair, channel_axis=2, gaussian_weights=True)
    )
    assert ours < 0.5 * theirs


def shortest(work) -> float:
    times = []
    for _ in range(3):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)
