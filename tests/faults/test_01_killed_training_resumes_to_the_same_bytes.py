"""A training killed at any step resumes to the same bytes; no saved step is repeated."""

import os
import signal
import time

import pytest

from idemnet.training.launch import launch

from ..end_to_end.test_train import TRAIN, checkpoints, weights
from ..training.tiny import STEPS, RandomPatches, digest, make_job, run_apart, trained


def kill_and_resume(folder, step: int, **settings) -> tuple[int, str]:
    """Kill a training at a step; give where the next one began, and what it ended with."""
    killing = RandomPatches(poison="kill", after=4 * step)
    assert run_apart(launch, make_job(folder, killing, **settings)) == -signal.SIGKILL
    patches = RandomPatches()
    end = digest(trained(make_job(folder, patches, **settings)))
    return STEPS - len(patches.reads) // 4, end


# Of three epochs of three: the first, one in mid-epoch, the last, the first of the next, ...
@pytest.mark.parametrize("step", [0, 1, 2, 3, 5, 8])
def test_killed_at_any_step_it_ends_with_the_same_bytes(tmp_path, whole, step):
    begun, end = kill_and_resume(tmp_path, step)
    assert begun == step // 2 * 2  # a checkpoint every two steps
    assert end == whole


@pytest.mark.slow
@pytest.mark.parametrize("every", [1, 3, 4])
@pytest.mark.parametrize("step", range(STEPS))
def test_however_often_it_saves(tmp_path, whole, step, every):
    begun, end = kill_and_resume(tmp_path, step, checkpoint_steps=every)
    assert begun == step // every * every
    assert end == whole


@pytest.mark.slow
def test_killed_at_every_step_in_turn_it_still_ends_with_the_same_bytes(tmp_path, whole):
    for step in range(STEPS):
        killing = RandomPatches(poison="kill", after=4)
        job = make_job(tmp_path, killing, checkpoint_steps=1)
        if step < STEPS - 1:
            assert run_apart(launch, job) == -signal.SIGKILL
            assert job.load_checkpoint()["step"] == step + 1
    assert digest(trained(make_job(tmp_path, checkpoint_steps=1))) == whole


@pytest.mark.parametrize("workers", [2, pytest.param(0, marks=pytest.mark.slow)])
def test_the_same_command_ends_with_the_same_bytes(project, trained, workers):
    """Workers are ahead of the training: what they had ready is made again. They end with it."""
    every_step = [f"--params=deblur.train.checkpoint_steps=1,deblur.train.workers={workers}"]
    run = project.start(*TRAIN, *every_step)
    while run.poll() is None and len(checkpoints(project)) < 2:
        time.sleep(0.002)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=60)  # returns when the last process with the pipe has exited
    assert run.returncode == -signal.SIGKILL
    assert "resuming at step" in project.run(*TRAIN, *every_step).stdout
    assert weights(project) == weights(trained)
