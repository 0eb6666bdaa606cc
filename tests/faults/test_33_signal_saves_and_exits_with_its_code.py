"""SIGTERM, SIGUSR1 and Ctrl-C end a training after the current step, saved, with the exit code."""

import os
import signal
import subprocess
import sys
import time

import pytest

from idemnet.training.launch import launch
from idemnet.training.loader import open_loader

from ..conftest import SMALL
from ..end_to_end.test_train import TRAIN, checkpoints
from ..training.tiny import STEPS, RandomPatches, digest, make_job, run_apart, trained


@pytest.mark.parametrize(("poison", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGUSR1", 138)])
@pytest.mark.parametrize("step", [0, 5])
def test_the_step_is_finished_and_saved_and_the_rest_ends_the_same(
    tmp_path, whole, poison, code, step
):
    signalled = RandomPatches(poison=poison, after=4 * step)
    rarely = {"checkpoint_steps": 1000}
    assert run_apart(launch, make_job(tmp_path, signalled, **rarely)) == code
    assert make_job(tmp_path).load_checkpoint()["step"] == step + 1
    assert digest(trained(make_job(tmp_path, **rarely))) == whole


HELPERS = """
import os, signal, time
from multiprocessing import forkserver, resource_tracker
from idemnet.system.processes import start_helpers
signal.signal(signal.SIGUSR1, lambda number, frame: None)
start_helpers()
os.killpg(0, signal.SIGUSR1)
time.sleep(0.5)
for helper in (resource_tracker._resource_tracker._pid, forkserver._forkserver._forkserver_pid):
    print(os.waitpid(helper, os.WNOHANG))
"""


def test_sigusr1_to_the_whole_process_group_does_not_end_multiprocessing_s_own_processes():
    command = [sys.executable, "-c", HELPERS]
    said = subprocess.run(
        command, capture_output=True, text=True, check=True, start_new_session=True
    )
    assert said.stdout == "(0, 0)\n(0, 0)\n"


@pytest.mark.parametrize("poison", ["SIGTERM", "SIGUSR1", "SIGINT"])
def test_a_signal_to_the_whole_process_group_ends_no_loader_worker(tmp_path, poison):
    """They still load what the step in progress needs; it is for the training to end them."""
    signalled = RandomPatches(poison=poison, after=2)
    loader = open_loader(make_job(tmp_path, signalled, workers=1), 0)
    assert len(list(loader)) == STEPS


@pytest.mark.parametrize(
    ("send", "number", "code", "processes"),
    [
        (os.kill, signal.SIGTERM, 143, 1),
        (os.kill, signal.SIGUSR1, 138, 2),
        pytest.param(os.killpg, signal.SIGUSR1, 138, 1, marks=pytest.mark.slow),  # as by SLURM
        pytest.param(os.killpg, signal.SIGINT, 130, 1, marks=pytest.mark.slow),  # as by Ctrl-C
        pytest.param(os.kill, signal.SIGINT, 130, 2, marks=pytest.mark.slow),
    ],
)
def test_the_command_saves_and_leaves_with_the_signal_s_code(
    project, send, number, code, processes
):
    train = {**SMALL["deblur"]["train"], "epochs": 5000, "workers": 1, "checkpoint_steps": 5}
    train["processes"] = processes
    project.set_parameters({"deblur": {**SMALL["deblur"], "train": train}})
    run = project.start(*TRAIN)
    while run.poll() is None and not checkpoints(project):
        time.sleep(0.01)
    send(run.pid, number)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == code, output
    assert "the same command resumes from here" in output
    assert "Traceback" not in output
