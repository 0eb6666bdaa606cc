"""MLflow after a real training: an installable model, in a relocatable store."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from ..conftest import SMALL, Project
from .test_train import TRAIN, checkpoints

PREDICT = """
import sys
from pathlib import Path
sys.path = [one for one in sys.path if not (Path(one or ".") / "idemnet").is_dir()]
import numpy as np
from mlflow import pyfunc
model = pyfunc.load_model(sys.argv[1])
batch = np.load(sys.argv[2])
import idemnet
assert Path(idemnet.__file__).is_relative_to(sys.argv[1]), idemnet.__file__
np.savez(sys.argv[3], batch=model.predict(batch), one=model.predict(batch[0]))
for wrong in (batch[0, 0], batch.astype(float), batch[..., :2], batch.astype(int) + 200):
    try:
        model.predict(wrong)
    except ValueError as error:
        assert "must be one (H, W, 3) or a batch (N, H, W, 3)" in str(error)
    else:
        raise AssertionError(wrong.shape)
"""


def registered(project: Project):
    [model] = project.folder.glob("mlruns/*/artifacts/model")
    return model


def test_the_registered_model_installs_and_restores_one_image_or_a_batch(trained, tmp_path):
    """In a process that finds no idemnet but the one that came with the model."""
    model = registered(trained)
    requirements = (model / "requirements.txt").read_text()
    assert "torch==" in requirements
    assert "+" not in requirements and "idemnet" not in requirements
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-index",
         "-r", model / "requirements.txt"], check=True, timeout=300,
    )  # fmt: skip

    images = np.random.default_rng(0).integers(1, 256, (3, 21, 34, 3), np.uint8)
    np.save(tmp_path / "images.npy", images)
    subprocess.run(
        [sys.executable, "-c", PREDICT, model, tmp_path / "images.npy", tmp_path / "restored.npz"],
        check=True, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    restored = np.load(tmp_path / "restored.npz")
    assert restored["batch"].shape == images.shape and restored["batch"].dtype == np.uint8
    assert restored["one"].shape == images[0].shape
    assert np.abs(restored["one"].astype(int) - restored["batch"][0]).max() <= 1  # rounding


def test_a_run_in_mlflow_says_what_it_was_made_from(trained):
    card = json.loads((trained.folder / "data/06_models/deblur/builtin/card.json").read_text())
    with sqlite3.connect(trained.folder / "mlflow.db") as store:
        [data] = store.execute("select name, digest, dataset_source_type from datasets").fetchall()
        tags = dict(store.execute("select key, value from tags").fetchall())
        keys = {key for (key,) in store.execute("select distinct key from metrics").fetchall()}
        version = dict(store.execute("select key, value from model_version_tags").fetchall())
    assert data == ("builtin", card["data_fingerprint"][:16], "code")
    assert tags["mlflow.source.name"].startswith("kedro run --pipeline=train_deblur")
    assert {"step/learning_rate", "step/gradient_norm", "step/samples_per_second"} <= keys
    assert {"final/validation/psnr", "final/validation/selection"} <= keys
    assert not [key for key in keys if "." in key]
    assert version["data_fingerprint"] == card["data_fingerprint"]
    assert (version["dataset"], version["validation_patches"]) == ("builtin", "4")


def test_a_training_stopped_by_ctrl_c_was_killed(project):
    train = {**SMALL["deblur"]["train"], "epochs": 5000, "checkpoint_steps": 5}
    project.set_parameters({"deblur": {**SMALL["deblur"], "train": train}})
    run = project.start(*TRAIN)
    while run.poll() is None and not checkpoints(project):
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGINT)
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 130, output
    with sqlite3.connect(project.folder / "mlflow.db") as store:
        assert store.execute("select status from runs").fetchall() == [("KILLED",)]


@pytest.mark.slow
def test_a_copied_or_moved_project_writes_nothing_to_where_it_was(trained, tmp_path):
    def files(folder) -> dict:
        found = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
        return {path: path.stat().st_mtime_ns for path in found if path.is_file()}

    def train(folder, rate: float) -> None:
        Project(folder).run(*TRAIN, f"--params=deblur.train.learning_rate={rate}")

    original, copy, moved = (tmp_path / name for name in ("original", "copy", "moved"))
    shutil.copytree(trained.folder, original)  # other tests use that one meanwhile
    before = files(original)
    shutil.copytree(original, copy)
    train(copy, 1e-3)
    assert files(original) == before
    assert len(list(copy.glob("mlruns/*/artifacts/weights.safetensors"))) == 2

    shutil.move(copy, moved)
    train(moved, 3e-3)
    assert not copy.exists()
    assert len(list(moved.glob("mlruns/*/artifacts/weights.safetensors"))) == 3
    with sqlite3.connect(moved / "mlflow.db") as store:
        stored = store.execute(
            "select artifact_uri from runs union select source from model_versions "
            "union select artifact_location from experiments where name != 'Default'"
        ).fetchall()
    assert [one for (one,) in stored if not one.startswith(moved.as_uri())] == []
    champion = "mlflow:idemnet-deblur@champion"
    Project(moved).run("idemnet", "export", "--format", "pt2", "--weights", champion)
