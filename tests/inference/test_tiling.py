from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import avg_pool2d

from idemnet import Restorer
from idemnet.imaging.scenes import render_frames
from idemnet.inference import receptive_field
from idemnet.inference.receptive_field import find_overlap, find_period, measure_receptive_field
from idemnet.inference.restore import restore
from idemnet.inference.tiling import FADE, SQUARE, restore_in_tiles, tile_shape, tile_starts
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.models.idempotent import IdempotentNet
from idemnet.parameters.network import IdempotentParameters
from idemnet.parameters.restore import RestoreParameters
from idemnet.parameters.source import SceneParameters

from ..models.test_gated import gated


@given(st.integers(1, 300), st.integers(2, 90), st.integers(0, 89), st.integers(1, 64))
def test_tiles_cover_everything_and_share_at_least_the_overlap(length, tile, overlap, period):
    if overlap >= tile:
        with pytest.raises(ValueError, match="overlap"):
            tile_starts(length, tile, overlap, period)
        return
    starts = tile_starts(length, tile, overlap, period)
    assert starts[0] == 0
    assert starts[-1] + tile >= length
    assert all(b - a <= tile - overlap for a, b in pairwise(starts))
    assert len(starts) == 1 or starts[-1] + overlap < length  # none in vain
    assert tile - overlap < period or all(start % period == 0 for start in starts)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 70), st.integers(1, 70), st.integers(8, 40), st.integers(0, 7))
def test_what_is_not_changed_comes_back_as_it_was(height, width, tile, overlap):
    image = torch.rand(1, 3, height, width)
    sizes = []

    def restore(part):
        sizes.append(part[0, 0].numel())
        return torch.cat([part, 2 * part])  # as many images as it likes

    restored = restore_in_tiles(restore, image, tile=tile, overlap=overlap)
    torch.testing.assert_close(restored, torch.cat([image, 2 * image]))
    assert max(sizes) <= tile**2


def test_what_looks_around_leaves_no_seam():
    image = torch.rand(1, 3, 150, 190, generator=torch.Generator().manual_seed(0))

    def soften(part):
        return avg_pool2d(part, 5, stride=1, padding=2, count_include_pad=False)

    tiled = restore_in_tiles(soften, image, tile=64, overlap=24)
    bare = restore_in_tiles(soften, image, tile=64, overlap=0)
    whole = soften(image)
    # At a tile's edge the filter sees half of its window; fading gives that next to no weight.
    assert (tiled - whole).abs().max() < 0.02
    assert (bare - whole).abs().max() > 0.1


def test_tiles_share_as_little_as_they_can():
    assert tile_shape(720, 1280, tile=544, overlap=72) == (424, 680)  # two by two, not by three
    assert tile_shape(720, 1280, tile=528, overlap=72) == (424, 488)  # two by three small ones
    assert tile_shape(100, 9000, tile=512, overlap=64)[0] == 100  # a panorama is cut one way only
    assert tile_shape(9000, 100, tile=512, overlap=64)[1] == 100
    assert tile_shape(500, 500, tile=512, overlap=64) == (500, 500)


@pytest.mark.parametrize(("overlap", "most"), [(58, 1.3), (128, 1.8), (210, 2.9)])
def test_tiles_of_a_photograph_are_no_flatter_than_those_of_a_small_picture(overlap, most):
    """Flat tiles would restore each pixel up to nine times."""
    restored = 1.0
    for length, tile in zip((4000, 6000), tile_shape(4000, 6000, 512, overlap), strict=True):
        starts = tile_starts(length, tile, overlap)
        restored *= sum(min(tile, length - start) for start in starts) / length
    assert restored < most


@pytest.mark.parametrize("radius", [0, 3, 20])
def test_the_overlap_is_twice_what_a_network_is_found_to_see(radius):
    """A filter whose radius is known is the oracle."""
    spread = nn.Conv2d(3, 3, 2 * radius + 1, padding=radius, groups=3, bias=False)
    nn.init.constant_(spread.weight, 1 / (2 * radius + 1) ** 2)
    reach = measure_receptive_field(spread, "cpu")
    assert radius - 1 <= reach <= radius  # the last column may be too faint to be seen
    assert find_overlap(spread, "cpu") == 2 * reach


def test_the_overlap_on_a_card_is_not_measured_again(blurred_scene, monkeypatch):
    restorer = Restorer.load("deblur", device="cpu", tile=256)
    monkeypatch.setattr(receptive_field, "measure_receptive_field", None)
    assert find_overlap(restorer.model, "cpu") == restorer.card["tile_overlap"]
    assert restorer(blurred_scene).shape == blurred_scene.shape


def test_tiles_of_a_network_that_sees_far_cannot_be_told_either(blurred_scene):
    """Six iterations with memory, and weights that change pixels more than trained ones do."""
    torch.manual_seed(0)
    network = IdempotentNet(IdempotentParameters(width=6, iterations=6, residual_scale=0.05)).eval()
    image = torch.from_numpy(blurred_scene).permute(2, 0, 1)[None, :, :240, :320]
    with torch.inference_mode():
        whole = network(image)
        overlap = find_overlap(network, "cpu")
        tiled = restore_in_tiles(network, image, tile=192, overlap=overlap)
        narrow = restore_in_tiles(network, image, tile=192, overlap=FADE)
    assert 255 * (whole - image).abs().mean() > 1
    assert 255 * (tiled - whole).abs().max() < 0.5 < 255 * (narrow - whole).abs().max()


def test_a_picture_that_fits_is_not_cut():
    image = torch.rand(1, 3, 40, 50)
    assert restore_in_tiles(lambda part: part, image, tile=50, overlap=8) is image


@pytest.mark.parametrize("weights", ["deblur", "dehaze"])
def test_tiles_of_a_network_cannot_be_told_from_the_whole(blurred_scene, weights):
    """The largest difference that the README states."""
    whole = Restorer.load(weights, device="cpu", tile=2048)(blurred_scene)
    tiled = Restorer.load(weights, device="cpu", tile=344)(blurred_scene)
    assert 0 < 255 * np.abs(tiled - whole).max() < 0.5


@pytest.mark.parametrize(("height", "width", "tile"), [(299, 411, 331), (289, 419, 191)])
def test_tiles_cannot_be_told_at_odd_sizes(blurred_scene, height, width, tile):
    restorer = Restorer.load("deblur", device="cpu", tile=tile)
    scene = blurred_scene[:height, :width]
    whole = restore(restorer.model, scene, RestoreParameters(tile=2048), "cpu")
    assert 0 < 255 * np.abs(restorer(scene) - whole).max() < 0.5


@settings(max_examples=10)
@given(
    st.integers(65, 300), st.integers(65, 420), st.integers(64, 400), st.sampled_from([40, 64, 128])
)
@example(143, 420, 64, 128)
@example(300, 419, 331, 128)
def test_tiles_of_random_gated_blocks_cannot_be_told(height, width, tile, window):
    network = gated(attention_window=window, downscale=4, residual_scale=0.1)
    for name, weights in network.named_parameters():
        if name.endswith("weigh.weight"):  # attention counts for more than with torch's own
            nn.init.normal_(weights, 0, 6)
    scene = render_blurred()[:height, :width]
    tiled, whole = (
        restore(network, scene, RestoreParameters(tile=side), "cpu") for side in (tile, 2048)
    )
    assert 255 * np.abs(whole - scene).mean() > 1
    assert 255 * np.abs(tiled - whole).max() < 0.5


def test_tiles_start_with_cells_of_attention_and_share_them_whole():
    network = gated(attention_window=96, downscale=2)
    assert find_period(network) == 48
    assert find_overlap(network, "cpu") % (2 * 48) == 0
    assert find_period(gated(attention_window=128, downscale=4)) == 64
    assert find_period(gated(block="residual")) == find_period(nn.Identity()) == SQUARE


@pytest.fixture
def blurred_scene():
    return render_blurred()


@cache
def render_blurred():
    photographs = [one for one in PHOTOGRAPHS if one.split == "test"]
    scene = SceneParameters(frames=15, height=300, width=420)
    frames = np.stack(list(render_frames(scene, "test", 0, photographs)))
    return frames.mean(axis=0, dtype=np.float32) / 255
