"""A corrupt checkpoint is reported and the previous one used; if none is intact, nothing starts."""

import logging
import random

import pytest

from idemnet.errors import BadInputError
from idemnet.training.launch import launch

from ..end_to_end.test_train import TRAIN, checkpoints
from ..training.tiny import STEPS, RandomPatches, digest, make_job, trained

FLIPS = [f"flip {number}" for number in range(20)]


def corrupt(data: bytes, fault: str) -> bytes:
    kind, _, number = fault.partition(" ")
    if kind == "flip":
        place = random.Random(int(number)).randrange(len(data))
        return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
    return data[: {"0": 0, "100": 100, "half": len(data) // 2, "-1": -1}[number]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a training that has ended."""
    folder = tmp_path_factory.mktemp("finished")
    trained(make_job(folder))
    return folder


@pytest.mark.parametrize("fault", [*FLIPS, "cut 0", "cut 100", "cut half", "cut -1"])
def test_the_previous_one_is_used_with_one_warning(finished, fault, caplog):
    *_, newest = sorted(finished.glob("*/*.pt"))
    data = newest.read_bytes()
    newest.write_bytes(corrupt(data, fault))
    try:
        assert make_job(finished).load_checkpoint()["step"] == STEPS - 1
    finally:
        newest.write_bytes(data)
    [warning] = caplog.records
    assert warning.levelno == logging.WARNING
    assert newest.name in warning.getMessage() and "using the previous one" in warning.getMessage()


def test_training_resumes_from_there_and_keeps_two_that_are_intact(tmp_path, whole):
    trained(make_job(tmp_path))
    before, newest = sorted(tmp_path.glob("*/*.pt"))
    newest.write_bytes(b"")
    (newest.parent / f"000000010-{'0' * 64}.pt").write_bytes(b"")
    patches = RandomPatches()
    assert digest(trained(make_job(tmp_path, patches))) == whole
    assert len(patches.reads) == 4  # the last step
    first, second = sorted(tmp_path.glob("*/*.pt"))
    assert first == before
    assert second.name.startswith("000000009-") and second.stat().st_size > 0


def test_with_none_left_nothing_is_trained(tmp_path):
    trained(make_job(tmp_path))
    files = sorted(tmp_path.glob("*/*.pt"))
    for file in files:
        file.write_bytes(corrupt(file.read_bytes(), "flip 0"))
    patches = RandomPatches()
    with pytest.raises(BadInputError, match="no checkpoint is intact, remove them to start over"):
        launch(make_job(tmp_path, patches))
    assert patches.reads == []
    assert sorted(tmp_path.glob("*/*.pt")) == files


@pytest.mark.slow
def test_the_command_reports_it_and_fails(project):
    project.run(
        *TRAIN, "--params=deblur.train.time_limit_minutes=0.0001"
    )  # saves at the first step
    [file] = checkpoints(project)
    file.write_bytes(file.read_bytes()[:-1])
    refused = project.run(*TRAIN, check=False)
    assert refused.returncode == 1
    assert "no checkpoint is intact" in refused.stderr
    assert "Traceback" not in refused.stderr
