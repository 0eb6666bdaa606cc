"""A read-only or vanished folder ends a command with its name; nothing is reported as saved."""

import ctypes
import logging
import shutil
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from idemnet.errors import BadInputError
from idemnet.media.image_files import write_image
from idemnet.steps.plan import Plan, Recipe
from idemnet.steps.publish import publish
from idemnet.storage.executor import Job
from idemnet.tracking.tracker import Tracker
from idemnet.training.launch import launch

from ..end_to_end.test_train import TRAIN
from ..steps.test_publish import recipe, tree
from ..training.tiny import RandomPatches, digest, make_job, run_apart, trained


def obey_permissions() -> None:
    """Return up what root may do beyond others, in this process and in what it becomes."""
    if sys.platform == "linux":
        libc, drop_from_bounding_set, no_capabilities = (
            ctypes.CDLL(None),
            24,
            (ctypes.c_uint32 * 6)(),
        )
        for capability in range(64):
            libc.prctl(drop_from_bounding_set, capability, 0, 0, 0)
        libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), no_capabilities)


@pytest.fixture
def read_only():
    """Make folders read-only, for the time of a test."""
    folders = []

    def forbid(folder: Path) -> Path:
        folders.append(folder)
        folder.chmod(0o555)
        return folder

    yield forbid
    for folder in folders:
        folder.chmod(0o755)


def train_and_tell(job, said: Path) -> None:
    obey_permissions()
    logging.basicConfig(filename=said, level=logging.INFO)
    try:
        launch(job)
    except OSError as error:
        logging.getLogger().info("ended: %s", error)
        raise


@pytest.mark.parametrize("poison", [None, pytest.param("SIGTERM", marks=pytest.mark.slow)])
def test_checkpoints(tmp_path, whole, read_only, poison):
    store, said = tmp_path / "store", tmp_path / "said"
    run_apart(launch, make_job(store, RandomPatches(poison="kill", after=4 * 4)))
    [folder] = store.iterdir()
    before = tree(store)
    read_only(folder)
    job = make_job(store, RandomPatches(poison=poison))
    assert run_apart(train_and_tell, job, said) == 1
    assert f"ended: [Errno 13] Permission denied: '{folder}/" in said.read_text()
    assert "saved" not in said.read_text()
    assert tree(store) == before
    folder.chmod(0o755)
    assert digest(trained(make_job(store))) == whole


@dataclass(frozen=True)
class Vanishing(RandomPatches):
    """Patches whose reading removes a folder."""

    folder: Path = Path()

    def read(self, number, top, left, size):
        if len(self.reads) == self.after:
            shutil.rmtree(self.folder)
        return super().read(number, top, left, size)


@pytest.mark.slow
@pytest.mark.usefixtures("patience")
def test_the_record_of_a_training(tmp_path, tables, caplog):
    """It is missed in words; training continues, and the same command adds its results."""
    (tmp_path / "store").mkdir()
    tracker = Tracker(Path(shutil.copy(tables, tmp_path / "store")), "deblur", "tiny")
    # Well after the checkpoint of update 2, before which the run has been stored: a store that
    # vanishes earlier is created anew, and nothing is missed.
    vanishing = Vanishing(after=6 * 4, folder=tmp_path / "store")
    job = make_job(tmp_path, vanishing, tracker)
    assert trained(job)["step"] == job.steps
    assert "store/mlflow.db: " in caplog.text and "training continues" in caplog.text
    assert not tracker.finished(job.fingerprint)
    assert run_apart(launch, make_job(tmp_path, record=tracker)) == 0
    assert tracker.finished(job.fingerprint)


def make_and_remove(staging: Path, wanted):
    """Yield images; before the last, those that are there are removed."""
    *most, last = wanted
    for name in most:
        yield name, np.zeros((4, 4, 3), np.uint8)
    shutil.rmtree(staging / "files")
    yield last, np.zeros((4, 4, 3), np.uint8)


def test_a_step_publishes_nothing_that_does_not_exist(tmp_path):
    publish(tmp_path / "set", recipe(tmp_path / "log", "e" * 64), write_image)
    before = tree(tmp_path / "set")
    staging = tmp_path / f".set.{'f' * 16}"
    names = ("a.png", "b.png", "c.png")
    vanishing = Plan([Job(names, partial(make_and_remove, staging))])
    with pytest.raises(
        BadInputError, match=rf"{staging}/files: 2 of 3 files were removed .*: a\.png"
    ):
        publish(tmp_path / "set", Recipe("f" * 64, lambda: vanishing), write_image)
    assert tree(tmp_path / "set") == before
    publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    assert tree(tmp_path / "set") != before


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["data", "data/06_models", "data/06_models/runs"])
def test_the_command_names_it(copied, read_only, folder):
    shutil.rmtree(copied.folder / "data/06_models/deblur")
    change = "--params=deblur.train.seed=3"
    read_only(copied.folder / folder)
    for below in (copied.folder / folder).rglob("*"):
        if below.is_dir():
            read_only(below)
    refused = copied.run(*TRAIN, change, check=False, preexec_fn=obey_permissions)
    assert refused.returncode == 1
    assert str(copied.folder / folder) in refused.stdout + refused.stderr
    assert "Permission denied" in refused.stdout + refused.stderr


@pytest.mark.slow
def test_restoring_into_it_is_rejected_by_name(project, read_only):
    (project.folder / "out").mkdir()
    read_only(project.folder / "out")
    write_image(project.folder, "photo.png", np.zeros((20, 30, 3), np.uint8))
    refused = project.run(
        "idemnet", "restore", "photo.png", "-o", "out", check=False, preexec_fn=obey_permissions
    )
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "Permission denied: 'out/" in refused.stderr
