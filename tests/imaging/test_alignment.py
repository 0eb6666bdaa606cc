"""Brightness and position are taken out of RealBlur's scores, and nothing else is."""

import cv2
import numpy as np
import pytest
from scipy import ndimage

from idemnet.errors import BadInputError
from idemnet.imaging.alignment import align
from idemnet.imaging.metrics import masked_psnr, masked_ssim, psnr
from idemnet.media.image_files import decode_image


def smooth(rng: np.random.Generator, size: float, contrast: float, shape) -> np.ndarray:
    field = ndimage.gaussian_filter(rng.normal(0, 1, (*shape, 3)), (size, size, 0))
    return contrast * field / field.std()


def picture(height: int = 96, width: int = 128) -> np.ndarray:
    """Return something with detail, none of it so fine that resampling would change it."""
    rng = np.random.default_rng(4)
    layers = [smooth(rng, size, 25, (height, width)) for size in (2, 4, 12)]
    return np.clip(sum(layers) + 120, 0, 255).round().astype(np.uint8)


def worse(image: np.ndarray) -> np.ndarray:
    stains = smooth(np.random.default_rng(5), 3, 6, image.shape[:2])
    return np.clip(image + stains, 0, 255).round().astype(np.uint8)


def shifted(image: np.ndarray, x: float, y: float) -> np.ndarray:
    matrix = np.array([[1, 0, x], [0, 1, y]], float)
    size = image.shape[1::-1]
    return cv2.warpAffine(image, matrix, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)


def darker(image: np.ndarray, gain: float) -> np.ndarray:
    return np.rint(image * gain).astype(np.uint8)


def test_a_darker_result_scores_as_if_it_were_not():
    reference = picture()
    straight = masked_psnr(*align(worse(reference), reference))
    dark = darker(worse(reference), 0.9)
    assert psnr(dark, reference) < straight - 1
    assert masked_psnr(*align(dark, reference)) == pytest.approx(straight, abs=0.1)


def test_a_shifted_result_scores_as_if_it_were_not():
    reference = picture()
    straight = masked_psnr(*align(worse(reference), reference))
    moved = shifted(worse(reference), 1.5, 0)
    assert psnr(moved, reference) < straight - 1
    assert masked_psnr(*align(moved, reference)) == pytest.approx(straight, abs=0.1)


def test_the_mask_leaves_out_what_the_shifted_picture_does_not_show():
    reference = picture()
    _, _, mask = align(shifted(reference, -6, 0), reference)
    assert set(np.unique(mask)) == {0, 1}
    assert not mask[:, :5].any() or not mask[:, -5:].any()
    assert mask[:, 8:-8].all()
    assert mask.mean() == pytest.approx(1 - 6 / 128, abs=0.01)


def test_what_is_really_wrong_is_not_taken_out():
    reference = picture()
    images = align(worse(reference), reference)
    assert masked_psnr(*images) == pytest.approx(psnr(worse(reference), reference), abs=0.3)
    assert masked_ssim(*images) < 0.99


@pytest.mark.parametrize("other", [np.zeros((60, 80, 3), np.uint8), 255 - picture(60, 80)])
def test_what_cannot_be_aligned_is_rejected(other):
    with pytest.raises(BadInputError, match="cannot be aligned"):
        align(other, picture(60, 80))


def test_real_result_darker_or_shifted_comes_back_to_a_tenth_of_a_decibel(real):
    """A part of it; the whole takes ten times as long and says the same."""
    part = np.s_[200:440, 400:720]
    restored, reference = (
        decode_image((real / name).read_bytes(), name)
        for name in (
            "peer_outputs/dmphn_1_2_4_8/GOPR0384_11_00_000001.png",
            "gopro_pairs/test/GOPR0384_11_00/sharp/000001.png",
        )
    )
    straight = masked_psnr(*align(restored[part], reference[part]))
    for other in (darker(restored, 0.9), shifted(restored, 1.5, 0), shifted(restored, 0, -1.5)):
        assert psnr(other[part].copy(), reference[part].copy()) < straight - 1
        assert masked_psnr(*align(other[part], reference[part])) == pytest.approx(straight, abs=0.1)
