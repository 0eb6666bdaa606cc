"""An image of one pixel, one row or 2x2 is restored, padded by repeating its pixels."""

import numpy as np
import pytest
import torch

from idemnet import Restorer
from idemnet.models import MODELS, build_network
from idemnet.models.padding import pad_to_multiple

SIZES = [(1, 1), (1, 7), (7, 1), (2, 2)]


def test_padding_repeats_what_is_too_small_to_reflect():
    row = torch.tensor([[[[1.0, 2.0]]]])
    assert pad_to_multiple(row, 4)[0, 0].tolist() == [[1.0, 2.0, 1.0, 1.0]] * 4


@pytest.mark.parametrize("size", SIZES)
def test_one_pixel_is_padded_by_itself_alone(size):
    image = torch.rand(1, 3, 1, 1).expand(1, 3, *size)
    assert (pad_to_multiple(image, 4) == image[..., :1, :1]).all()


@pytest.mark.parametrize("size", SIZES)
def test_a_picture_so_small_is_restored(size):
    """By the weights that are shipped, and by each network."""
    picture = np.random.default_rng(0).random((*size, 3), np.float32)
    restored = Restorer.load("deblur", device="cpu")(picture)
    assert restored.shape == picture.shape
    assert np.isfinite(restored).all()
    for name in MODELS:
        network = build_network(name, {"width": 2}).eval()
        with torch.inference_mode():
            result = network(torch.from_numpy(picture).permute(2, 0, 1)[None])
        assert result.shape[-2:] == size and result.isfinite().all()
