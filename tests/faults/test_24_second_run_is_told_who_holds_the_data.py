"""Of two concurrent runs one finishes as if alone; the other exits, naming who holds the data."""

import math
import os
import signal
import socket
import time

import pytest

from ..conftest import SMALL, Project
from ..end_to_end.test_train import TRAIN, checkpoints

PREPARE = ("kedro", "run", "--pipeline=prepare_deblur")
LOCK = "data/.locks/data.01_raw.deblur.builtin.lock"
STALE = f"process 4194305 on {socket.gethostname()}: kedro run of somebody whom a kill has ended\n"
"""No system counts processes so far."""


def start_two(project: Project, alone: Project) -> float:
    """Start two runs together; give the seconds from one's lock to the other's end."""
    lock = project.folder / LOCK
    lock.parent.mkdir(parents=True)
    lock.write_text(STALE)
    running = [project.start(*PREPARE) for _ in range(2)]
    taken = math.inf
    while all(run.poll() is None for run in running):
        if lock.read_text() not in ("", STALE):
            taken = min(taken, time.monotonic())
        time.sleep(0.02)
    seconds = time.monotonic() - taken
    [refused] = [run for run in running if run.returncode is not None]
    [owner] = [run for run in running if run.returncode is None]
    said, _ = refused.communicate()
    output, _ = owner.communicate(timeout=900)
    assert (refused.returncode, owner.returncode) == (1, 0), said + output
    assert f"data/01_raw/deblur/builtin is in use by process {owner.pid} on " in said
    assert "kedro run --pipeline=prepare_deblur" in said
    assert "Traceback" not in said
    assert project.bytes_below() == alone.bytes_below()
    return seconds


def test_of_two_started_together_one_finishes_and_the_other_is_rejected(make_project, prepared):
    """Twice, and not timed: other tests keep the machine busy."""
    for number in range(2):
        start_two(make_project(f"round {number}"), prepared)


@pytest.mark.slow
def test_twenty_times_the_other_is_rejected_within_five_seconds(make_project, prepared):
    for number in range(20):
        assert start_two(make_project(f"round {number}"), prepared) < 5


def test_after_a_kill_of_the_owner_the_next_run_starts(project):
    lock = project.folder / LOCK
    owner = project.start(*PREPARE)
    while owner.poll() is None and not (lock.exists() and lock.read_text()):
        time.sleep(0.005)
    os.kill(owner.pid, signal.SIGKILL)
    owner.communicate()
    assert owner.returncode == -signal.SIGKILL
    assert f"process {owner.pid} on " in lock.read_text()
    project.run(*PREPARE, "--tags=download")


def test_another_task_and_an_evaluation_run_while_a_training_runs(copied):
    """The training waits at a time limit that never comes; what it has published can be read."""
    train = {**SMALL["deblur"]["train"], "epochs": 50_000, "checkpoint_steps": 5}
    copied.set_parameters({**SMALL, "deblur": {**SMALL["deblur"], "train": train}})
    before = set(checkpoints(copied))
    training = copied.start(*TRAIN)
    while training.poll() is None and not set(checkpoints(copied)) - before:
        time.sleep(0.01)
    try:
        copied.run("kedro", "run", "--pipeline=prepare_dehaze")
        copied.run("kedro", "run", "--pipeline=evaluate_deblur")
        refused = copied.run("kedro", "run", "--pipeline=train_deblur", check=False)
        assert refused.returncode == 1
        assert f"is in use by process {training.pid} on " in refused.stderr
        assert training.poll() is None
    finally:
        os.kill(training.pid, signal.SIGKILL)
        training.communicate()


NO_LOCKS = """
import errno, fcntl, os
def flock(file, mode):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
fcntl.flock = flock
"""
"""What Python runs at its start: flock answers as it does on file systems without locks."""


def test_where_the_file_system_has_no_locks_a_run_warns_and_works(project, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(NO_LOCKS)
    python = ("env", f"PYTHONPATH={tmp_path}")
    done = project.run(*python, *PREPARE, "--tags=download")
    said = " ".join((done.stdout + done.stderr).split())
    assert "cannot be locked (No locks available); make sure that no other run" in said
    assert "Traceback" not in said
    assert (project.folder / "data/01_raw/deblur/builtin/manifest.json").exists()
