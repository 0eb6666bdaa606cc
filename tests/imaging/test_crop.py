"""Patches cover every pixel and overlap as asked."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from idemnet.imaging.crop import contrast, cut_patches, patch_grid


@given(
    size=st.integers(1, 24), more=st.tuples(st.integers(0, 60), st.integers(0, 60)), data=st.data()
)
def test_patches_cover_the_image_to_its_edges(size, more, data):
    stride = data.draw(st.integers(1, size))
    height, width = size + more[0], size + more[1]
    covered = np.zeros((height, width), int)
    grid = patch_grid(height, width, size, stride)
    for top, left in grid:
        assert 0 <= top <= height - size and 0 <= left <= width - size
        covered[top : top + size, left : left + size] += 1
    assert covered.min() >= 1
    assert len(set(grid)) == len(grid)


def test_patches_are_cut_where_the_grid_says():
    image = np.arange(10 * 12 * 3, dtype=np.uint8).reshape(10, 12, 3)
    grid = patch_grid(10, 12, 8, 4)
    assert grid == [(0, 0), (0, 4), (2, 0), (2, 4)]
    patches = cut_patches(image, grid, 8)
    assert (patches[3] == image[2:10, 4:12]).all()


def test_contrast_tells_flat_from_textured():
    flat = np.full((1, 8, 8, 3), 90, np.uint8)
    stripes = flat.copy()
    stripes[:, ::2] = 10
    assert contrast(flat)[0] == 0
    assert contrast(stripes)[0] == 40
