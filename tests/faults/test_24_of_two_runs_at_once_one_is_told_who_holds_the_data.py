"""Of two runs at once one finishes as if alone, the other leaves, saying who holds the data."""

import math
import os
import signal
import time

import pytest

PREPARE = ("kedro", "run", "--pipeline=prepare_deblur")
STALE = "process 4194305: kedro run of somebody whom a kill has ended\n"
"""No system counts processes so far."""


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_of_two_started_together_one_finishes_and_the_other_is_told(rounds, make_project, prepared):
    for number in range(rounds):
        project = make_project(f"round {number}")
        (project.folder / "data").mkdir()
        lock = project.folder / "data/.run.lock"
        lock.write_text(STALE)
        running = [project.start(*PREPARE) for _ in range(2)]
        taken = math.inf  # from then on there is something to be told
        while all(run.poll() is None for run in running):
            if lock.read_text() not in ("", STALE):
                taken = min(taken, time.monotonic())
            time.sleep(0.005)
        assert time.monotonic() - taken < 5
        [refused] = [run for run in running if run.returncode is not None]
        [owner] = [run for run in running if run.returncode is None]
        said, _ = refused.communicate()
        output, _ = owner.communicate(timeout=300)
        assert (refused.returncode, owner.returncode) == (1, 0), said + output
        assert f"data is in use by process {owner.pid}: " in said
        assert "kedro run --pipeline=prepare_deblur" in said
        assert "Traceback" not in said
        assert project.bytes_below() == prepared.bytes_below()


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
