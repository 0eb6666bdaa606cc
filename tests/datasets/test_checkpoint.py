"""Checkpoints: whole or absent, two kept, and never code."""

import os
import pickle
import random
import signal
import subprocess
import sys

import pytest
import torch

from idemnet.datasets.checkpoint import Checkpoints
from idemnet.errors import BadInputError

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


def test_where_there_was_never_one_there_is_none(tmp_path):
    assert Checkpoints(tmp_path).load(NAME) is None


@pytest.mark.parametrize("fault", ["flip", "empty", "100", "half", "-1"])
def test_a_corrupt_one_is_named_and_the_one_before_taken(three, caplog, fault):
    newest = files(three)[-1]
    data = bytearray(newest.read_bytes())
    if fault == "flip":
        data[random.Random(0).randrange(len(data))] ^= 1
    else:
        ends = {"empty": 0, "100": 100, "half": len(data) // 2, "-1": -1}
        data = data[: ends[fault]]
    newest.write_bytes(data)
    assert three.load(NAME)["step"] == 20
    assert newest.name in caplog.text and "taking the one before" in caplog.text


def test_if_none_is_whole_that_is_an_error_not_a_new_start(three):
    for path in files(three):
        path.write_bytes(b"")
    with pytest.raises(BadInputError, match="no checkpoint is whole"):
        three.load(NAME)


def test_a_kill_while_writing_leaves_the_one_before(tmp_path):
    store = Checkpoints(tmp_path)
    store.save(NAME, 10, state(10))
    before = files(store)[0].read_bytes()
    script = f"""
import os, signal
from pathlib import Path
from idemnet.datasets import files
from idemnet.datasets.checkpoint import Checkpoints
def chunks():
    yield b"half"
    os.kill(os.getpid(), signal.SIGKILL)
files.write_whole(Path({str(tmp_path / NAME[:16] / "000000020-x.pt")!r}), chunks())
"""
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list((tmp_path / NAME[:16]).glob(".*.tmp"))
    assert store.load(NAME)["step"] == 10
    assert files(store)[0].read_bytes() == before
    assert not list((tmp_path / NAME[:16]).glob(".*.tmp"))


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
    with pytest.raises(BadInputError, match="no checkpoint is whole"):
        Checkpoints(tmp_path).load(NAME)
    assert not marker.exists()
