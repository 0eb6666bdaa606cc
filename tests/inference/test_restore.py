"""Pictures are cut into tiles as large as memory allows."""

import numpy as np
import psutil
import pytest

from idemnet.errors import BadInputError
from idemnet.inference import restore as restoring
from idemnet.inference.memory import restoring_memory
from idemnet.inference.receptive_field import find_overlap
from idemnet.inference.tiling import tile_shape
from idemnet.models import IdempotentNet
from idemnet.parameters.network import IdempotentParameters
from idemnet.parameters.restore import RestoreParameters


@pytest.fixture
def counted(monkeypatch):
    """Sizes for which memory was counted."""
    sizes = []

    def count(model, height, width):
        sizes.append((height, width))
        return restoring_memory(model, height, width)

    monkeypatch.setattr(restoring, "restoring_memory", count)
    return sizes


def test_tiles_are_chosen_once_for_pictures_of_one_size(counted):
    model = IdempotentNet(IdempotentParameters(width=2, iterations=1)).eval()
    how = RestoreParameters(memory="8GB", tile=256)
    for height in (300, 300, 310, 300):
        picture = np.zeros((height, 200, 3), np.uint8)
        assert restoring.restore(model, picture, how, "cpu").shape == picture.shape
    tried = len(counted)
    assert 0 < tried <= 8  # of 6 tiles each, halved
    restoring.restore(model, np.zeros((310, 200, 3), np.uint8), how, "cpu")
    assert len(counted) == tried


def test_the_largest_tile_that_fits_is_taken(monkeypatch):
    model = IdempotentNet(IdempotentParameters(width=16, iterations=1)).eval()
    picture = np.zeros((600, 600, 3), np.uint8)
    used = psutil.Process().memory_info().rss
    monkeypatch.setattr(psutil.Process, "memory_info", lambda _: type("Used", (), {"rss": used}))

    overlap = find_overlap(model, "cpu")

    def needed(tile):
        tall, wide = tile_shape(600, 600, tile, overlap)
        network = restoring_memory(model, tall, wide)
        return used + picture.nbytes + 2 * 4 * 3 * tall * 600 + network

    for memory in map(needed, (512, 288, 160)):
        fitting = [tile for tile in range(512, overlap, -32) if needed(tile) <= memory]
        how = RestoreParameters(memory=memory)
        assert restoring._fit(model, picture, how, "cpu", picture.nbytes).tile == max(fitting)
    with pytest.raises(BadInputError, match=r"restoring 600x600 needs \d+ MB of memory, but"):
        restoring._fit(model, picture, RestoreParameters(memory=used), "cpu", picture.nbytes)
