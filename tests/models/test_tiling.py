from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from idemnet.models.tiling import SQUARE, restore_in_tiles, tile_starts


@given(st.integers(1, 300), st.integers(2, 90), st.integers(0, 89))
def test_tiles_cover_everything_and_share_at_least_the_overlap(length, tile, overlap):
    if overlap >= tile:
        with pytest.raises(ValueError, match="overlap"):
            tile_starts(length, tile, overlap)
        return
    starts = tile_starts(length, tile, overlap)
    assert starts[0] == 0
    assert starts[-1] + tile >= length
    assert all(b - a <= tile - overlap for a, b in pairwise(starts))
    assert len(starts) == 1 or starts[-1] + overlap < length  # none in vain
    assert tile - overlap < SQUARE or all(start % SQUARE == 0 for start in starts)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(8, 40), st.integers(0, 7))
def test_what_is_not_changed_comes_back_as_it_was(height, width, tile, overlap):
    image = torch.rand(1, 3, height, width)
    sizes = []

    def restore(part):
        sizes.append(max(part.shape[-2:]))
        return torch.cat([part, 2 * part])  # as many images as it likes

    restored = restore_in_tiles(restore, image, tile=tile, overlap=overlap)
    torch.testing.assert_close(restored, torch.cat([image, 2 * image]))
    assert max(sizes) <= tile


def test_a_picture_that_fits_is_not_cut():
    image = torch.rand(1, 3, 40, 50)
    assert restore_in_tiles(lambda part: part, image, tile=50, overlap=8) is image
