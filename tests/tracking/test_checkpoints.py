"""Checkpoints: atomic, two kept, and never executed."""

import os
import pickle

import pytest
import torch

from idemnet.errors import BadInputError
from idemnet.tracking.checkpoints import Checkpoints

NAME = "f" * 64


def state(step: int) -> dict:
    return {"step": step, "model": {"w": torch.full((3,), float(step))}}


@pytest.fixture
def three(tmp_path) -> Checkpoints:
    store = Checkpoints(tmp_path)
    for step in (10, 20, 30):
        store.save(NAME, step, state(step))
    return store


def files(store: Checkpoints):
    return sorted((store.folder / NAME[:16]).glob("*.pt"))


def test_the_last_two_are_kept_and_the_newest_is_loaded(three):
    assert [path.name[:9] for path in files(three)] == ["000000020", "000000030"]
    assert three.load(NAME)["step"] == 30
    assert torch.equal(three.load(NAME)["model"]["w"], torch.full((3,), 30.0))


def test_without_checkpoints_nothing_is_loaded(tmp_path):
    assert Checkpoints(tmp_path).load(NAME) is None


def test_a_malicious_one_runs_nothing(tmp_path):
    import hashlib

    marker = tmp_path / "marker"

    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    place = tmp_path / NAME[:16]
    place.mkdir()
    data = pickle.dumps(Evil(), protocol=2)
    (place / f"000000001-{hashlib.sha256(data).hexdigest()}.pt").write_bytes(data)
    with pytest.raises(BadInputError, match="no checkpoint is intact"):
        Checkpoints(tmp_path).load(NAME)
    assert not marker.exists()
