"""Batches: read from memory where they fit, fetched ahead elsewhere, and waiting is shown."""

import time

import numpy as np
import psutil
import pytest

from idemnet.datasets.patches import PATCHES, PatchArray
from idemnet.steps.data import PatchRow
from idemnet.training.loader import Waiting, open_loader

from .tiny import RandomPatches, make_job


@pytest.fixture
def stored(tmp_path) -> PatchArray:
    patches = np.random.default_rng(0).integers(0, 256, (2, 8, 8, 3), np.uint8)
    np.save(tmp_path / PATCHES, patches)
    return PatchArray(tmp_path, (PatchRow("s", "1", 5, 0, 0, 0, 1),))


@pytest.mark.parametrize("free", [1_000_000_000, 400])
def test_patches_are_read_into_memory_only_where_that_leaves_half_of_it(stored, monkeypatch, free):
    monkeypatch.setattr(psutil, "virtual_memory", type("Memory", (), {"available": free}))
    degraded, clean = stored.read(0, 2, 3, 4)
    whole = np.load(stored.folder / PATCHES)
    assert np.array_equal(degraded, whole[0, 2:6, 3:7])
    assert np.array_equal(clean, whole[1, 2:6, 3:7])
    assert isinstance(stored.array, np.memmap) == (free < 1000)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a single core
def test_what_is_read_from_disk_is_fetched_ahead(tmp_path):
    class OnDisk(RandomPatches):
        fits_in_memory = False

    assert open_loader(make_job(tmp_path), 0).num_workers == 0
    assert open_loader(make_job(tmp_path, OnDisk()), 0).num_workers == 1
    assert open_loader(make_job(tmp_path, OnDisk(), workers=2), 0).num_workers == 2


@pytest.mark.parametrize(("reading", "computing", "shown"), [(9, 91, True), (1, 99, False)])
def test_waiting_for_data_is_shown_above_five_percent(monkeypatch, reading, computing, shown):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def batches():
        for number in range(50):
            now[0] += reading
            yield number

    waiting = Waiting(batches())
    for _ in waiting:
        now[0] += computing
    assert waiting.note() == (" waiting for data 9%" if shown else "")
