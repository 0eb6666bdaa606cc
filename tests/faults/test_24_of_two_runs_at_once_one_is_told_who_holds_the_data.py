"""Of two runs at once one finishes as if alone, the other leaves, saying who holds the data."""

import math
import os
import signal
import time

import pytest

from ..conftest import Project

PREPARE = ("kedro", "run", "--pipeline=prepare_deblur")
STALE = "process 4194305: kedro run of somebody whom a kill has ended\n"
"""No system counts processes so far."""


def start_two(project: Project, alone: Project) -> float:
    """Start two runs together; give the seconds from one's lock to the other's end."""
    (project.folder / "data").mkdir()
    lock = project.folder / "data/.run.lock"
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
    assert f"data is in use by process {owner.pid}: " in said
    assert "kedro run --pipeline=prepare_deblur" in said
    assert "Traceback" not in said
    assert project.bytes_below() == alone.bytes_below()
    return seconds


def test_of_two_started_together_one_finishes_and_the_other_is_told(make_project, prepared):
    """Twice, and not timed: other tests keep the machine busy."""
    for number in range(2):
        start_two(make_project(f"round {number}"), prepared)


@pytest.mark.slow
def test_twenty_times_the_other_is_told_within_five_seconds(make_project, prepared):
    for number in range(20):
        assert start_two(make_project(f"round {number}"), prepared) < 5


def test_after_a_kill_of_the_owner_the_next_run_starts(project):
    lock = project.folder / "data/.run.lock"
    owner = project.start(*PREPARE)
    while owner.poll() is None and not (lock.exists() and lock.read_text()):
        time.sleep(0.005)
    os.kill(owner.pid, signal.SIGKILL)
    owner.communicate()
    assert owner.returncode == -signal.SIGKILL
    assert f"process {owner.pid}: " in lock.read_text()
    project.run(*PREPARE, "--tags=download")
