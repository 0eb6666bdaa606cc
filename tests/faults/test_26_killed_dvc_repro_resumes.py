"""`dvc repro` killed with all its processes resumes from the checkpoint, to the same bytes."""

import os
import shutil
import signal
import time

import pytest
import yaml

from ..end_to_end.test_dvc import make_repository, stages_run
from ..end_to_end.test_train import TRAIN, checkpoints, weights

REPRO = ("dvc", "repro", "train@deblur")
BEFORE = [f"{step}@deblur" for step in ("download", "synthesize", "crop")]


@pytest.mark.slow
def test_killed_in_training(tmp_path, prepared):
    project = make_repository(tmp_path / "project")
    settings = project.folder / "conf/base/parameters_deblur.yml"
    content = yaml.safe_load(settings.read_text())
    content["deblur"]["train"]["checkpoint_steps"] = 1  # changes no result
    settings.write_text(yaml.safe_dump(content))
    shutil.copytree(prepared.folder / "data", project.folder / "data")
    project.run("dvc", "commit", "-q", "-f", *BEFORE)  # as if they had been run here
    run = project.start(*REPRO)
    while run.poll() is None and len(checkpoints(project)) < 2:
        time.sleep(0.002)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    assert run.returncode == -signal.SIGKILL
    output = project.run(*REPRO).stdout
    assert stages_run(output) == ["train"]
    assert "resuming at step" in output
    assert "up to date" in project.run("dvc", "status", "train@deblur").stdout
    resumed = weights(project)
    shutil.rmtree(project.folder / "data/06_models")
    project.run(*TRAIN, "--env=base")  # without a kill
    assert weights(project) == resumed
