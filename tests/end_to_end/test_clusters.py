"""docs/clusters.md: its commands train with two processes, and its SLURM script resumes."""

import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..conftest import BIN, REPOSITORY, SMALL, Project, environment
from .test_tools import free_port
from .test_train import TRAIN, checkpoints, weights

PAGE = re.sub(r"\\\n\s*", "", (REPOSITORY / "docs/clusters.md").read_text())
ON_ONE, ON_TWO = re.findall(r"^torchrun .*", PAGE, re.MULTILINE)
[SCRIPT] = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
MADE = re.compile(r"data/05_model_input/deblur/builtin: \d+ files")


def shrink(command: str, processes: int = 2) -> str:
    """Put two CPU processes, a small training and this machine in place of what a page shows."""
    for shown, really in {
        r" --env=paper": "",
        r"batch_size=\d+,deblur\.train\.epochs=\d+,deblur\.train\.decay_epochs=\d+": "batch_size=2",
        r"--nproc-per-node=8": f"--nproc-per-node={processes}",
        r"first-machine:29400": f"127.0.0.1:{free_port()}",
        r"PORT=29400": f"PORT={free_port()}",
    }.items():
        command = re.sub(shown, really, command)
    return command


def torchrun(project: Project, command: str) -> subprocess.Popen:
    return project.start(*command.split(), "--to-nodes=deblur.train")


def finish(run: subprocess.Popen) -> str:
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 0, output
    return output


@pytest.mark.slow
def test_torchrun_s_processes_train_together_and_one_prepares_the_data(project):
    output = finish(torchrun(project, shrink(ON_ONE)))
    assert len(MADE.findall(output)) == 1
    assert "rank 1: waiting up to 60 minutes for the data of rank 0" in output
    assert {path.name[:9] for path in checkpoints(project)} == {"000000018"}
    assert weights(project)


@pytest.mark.slow
def test_torchrun_gives_the_same_bytes_as_our_own_launcher(make_project):
    ours, theirs = make_project("ours"), make_project("theirs")
    ours.run(*TRAIN, "--params=deblur.train.processes=2")
    finish(torchrun(theirs, shrink(ON_ONE)))
    assert weights(ours) == weights(theirs)
    again = finish(torchrun(theirs, shrink(ON_ONE)))
    assert "done before, nothing to do" in again
    assert "rank 1: nothing to train, rank 0 does the rest" in again


@pytest.mark.slow
def test_torchrun_on_two_machines(project):
    command = shrink(ON_TWO, processes=1)
    machines = [torchrun(project, command) for _ in range(2)]
    outputs = [finish(machine) for machine in machines]
    assert sorted(len(MADE.findall(output)) for output in outputs) == [0, 1]
    assert weights(project)


@pytest.mark.slow
def test_a_machine_with_its_own_disk_is_told_how_to_prepare_its_data(make_project):
    port = free_port()
    first, second = (
        make_project(f"machine {rank}").start("env", *variables(rank, port), *TRAIN)
        for rank in range(2)
    )
    try:
        output, _ = second.communicate(timeout=300)
        assert second.returncode == 1, output
        assert "not found; make it with: kedro run --pipeline=prepare_deblur --tags=crop" in output
        assert "Traceback" not in output
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()


def variables(rank: int, port: int = 29400) -> list[str]:
    """What a launcher of two processes sets."""
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_PORT": port}
    return ["MASTER_ADDR=127.0.0.1", *(f"{name}={number}" for name, number in numbers.items())]


def test_what_cannot_be_trained_together_is_rejected_before_anything_runs(project):
    """By every process: none waits for the others."""
    launched = ("env", *variables(rank=1))
    for command, said in (
        (("--params=deblur.train.batch_size=3",), "batch_size = 3 must be a multiple of"),
        (("--pipeline=study_repeat",), "a study trains one network after the other"),
    ):
        refused = project.run(*launched, "kedro", "run", *command, check=False)
        assert refused.returncode == 1
        assert said in refused.stderr and "Traceback" not in refused.stderr
    nothing = project.run(*launched, "kedro", "run", "--pipeline=prepare_deblur")
    assert "rank 1: nothing to train" in nothing.stdout
    assert not (project.folder / "data/01_raw").exists()


SRUN = f"""#!{sys.executable}
import os, signal, subprocess, sys
tasks = [
    subprocess.Popen(sys.argv[1:], env=dict(os.environ, SLURM_PROCID=n, SLURM_LOCALID=n))
    for n in map(str, range(int(os.environ["SLURM_NTASKS"])))
]
signal.signal(signal.SIGUSR1, lambda *_: [task.send_signal(signal.SIGUSR1) for task in tasks])
open("srun.pid", "w").write(str(os.getpid()))
codes = [task.wait() for task in tasks]
sys.exit(max(code if code >= 0 else 128 - code for code in codes))
"""
"""What SLURM's does: start every task, pass a signal on, and exit with the highest code."""

SCONTROL = """#!/bin/sh
if [ "$1" = show ]; then echo 127.0.0.1; else echo "$@" >> scontrol.log; fi
"""


@pytest.fixture
def slurm(project, tmp_path) -> dict[str, str]:
    """The variables of a job with two tasks, and stand-ins for SLURM's two commands."""
    commands = tmp_path / "slurm"
    commands.mkdir()
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
        (commands / name).write_text(text)
        (commands / name).chmod(stat.S_IRWXU)
    (project.folder / ".venv").mkdir()
    (project.folder / ".venv/bin").symlink_to(BIN)
    return environment(
        SLURM_SUBMIT_DIR=str(project.folder), SLURM_JOB_ID="17", SLURM_JOB_NODELIST="here",
        SLURM_NTASKS="2", SLURM_NTASKS_PER_NODE="2",
    ) | {"PATH": f"{commands}:{environment()['PATH']}"}  # fmt: skip


def submit(slurm: dict[str, str], folder: Path) -> subprocess.Popen:
    return subprocess.Popen(
        ["bash", "-c", shrink(SCRIPT)], cwd=folder, env=slurm, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.mark.slow
def test_the_slurm_script_saves_before_its_time_is_up_and_resumes_when_requeued(project, slurm):
    train = {**SMALL["deblur"]["train"], "epochs": 100, "checkpoint_steps": 5}
    project.set_parameters({"deblur": {**SMALL["deblur"], "train": train}})
    job = submit(slurm, project.folder)
    while job.poll() is None and not checkpoints(project):
        time.sleep(0.02)
    os.kill(int((project.folder / "srun.pid").read_text()), signal.SIGUSR1)
    output, _ = job.communicate(timeout=60)
    assert job.returncode == 138, output
    assert output.count("saved; the same command resumes from here") == 1
    assert (project.folder / "scontrol.log").read_text() == "requeue 17\n"
    output = finish(submit(slurm, project.folder))
    assert "resuming at step" in output and len(MADE.findall(output)) == 0
    assert (project.folder / "data/08_reporting/deblur/builtin/report.html").exists()
    assert (project.folder / "scontrol.log").read_text() == "requeue 17\n"
