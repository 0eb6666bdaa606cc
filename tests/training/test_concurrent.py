"""Trainings side by side end as they do alone, and never outlive whoever started them."""

import subprocess
import sys

import psutil
import pytest

from idemnet.training.concurrent import train_concurrently
from idemnet.training.launch import launch

from ..conftest import REPOSITORY, environment
from .tiny import RandomPatches, digest, make_job, trained


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    """Let two train at once, on any machine."""
    monkeypatch.setattr("idemnet.training.concurrent.cores", lambda: 2)


def saved(job) -> int:
    """The newest checkpoint, by its name: loading would clear away what is being written."""
    files = sorted((job.checkpoints.folder / job.fingerprint[:16]).glob("*-*.pt"))
    return int(files[-1].name.partition("-")[0]) if files else 0


def test_they_end_with_the_same_bytes_as_alone(tmp_path):
    jobs = [make_job(tmp_path / "beside", seed=seed) for seed in range(3)]
    train_concurrently(jobs)
    for seed, job in enumerate(jobs):
        assert saved(job) == job.steps
        alone = trained(make_job(tmp_path / "alone", seed=seed))
        assert digest(job.checkpoints.load(job.fingerprint)) == digest(alone)


def test_on_one_core_they_wait_until_they_are_requested(tmp_path, monkeypatch):
    monkeypatch.setattr("idemnet.training.concurrent.cores", lambda: 1)
    jobs = [make_job(tmp_path, seed=seed) for seed in range(2)]
    train_concurrently(jobs)
    assert [saved(job) for job in jobs] == [0, 0]


def test_one_that_dies_is_left_where_it_was_and_hinders_no_other(tmp_path):
    dying = make_job(tmp_path, RandomPatches(poison="kill", after=4 * 5), seed=1)
    jobs = [make_job(tmp_path, seed=seed) for seed in (0, 2)]
    train_concurrently([dying, *jobs])
    assert saved(dying) == 4  # a checkpoint every two steps
    assert [saved(job) for job in jobs] == [job.steps for job in jobs]
    mended = make_job(tmp_path, seed=1)
    launch(mended)
    assert saved(mended) == mended.steps


def test_killed_with_their_parent_they_save_and_leave(tmp_path):
    long = {"epochs": 5000, "single_pass_epochs": 0}
    script = f"""
import sys
sys.path.insert(0, {str(REPOSITORY)!r})
from pathlib import Path
from tests.training.tiny import make_job
from idemnet.training import concurrent
from idemnet.training.concurrent import train_concurrently
concurrent.cores = lambda: 2
if __name__ == "__main__":
    jobs = [make_job(Path({str(tmp_path)!r}), seed=seed, **{long!r}) for seed in range(2)]
    train_concurrently(jobs)
"""
    program = tmp_path / "program.py"
    program.write_text(script)
    parent = subprocess.Popen(
        [sys.executable, program], env=environment(), stderr=subprocess.PIPE, text=True
    )
    jobs = [make_job(tmp_path, seed=seed, **long) for seed in range(2)]
    while not all(map(saved, jobs)):
        assert parent.poll() is None, parent.communicate()[1]
    children = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.communicate()
    _, alive = psutil.wait_procs(children, timeout=60)
    assert alive == []
    assert all(0 < saved(job) < job.steps for job in jobs)
