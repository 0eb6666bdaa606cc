"""Training, run as a user would."""

import json
import shutil
import sqlite3
import zipfile

import numpy as np
import yaml

from idemnet.media.image_files import encode_png

from ..conftest import Project

TRAIN = ("kedro", "run", "--pipeline=train_deblur", "--to-nodes=deblur.train")


def weights(project: Project) -> bytes:
    return (project.folder / "data/06_models/deblur/builtin/weights.safetensors").read_bytes()


def checkpoints(project: Project) -> list:
    return sorted(project.folder.glob("data/06_models/runs/deblur/builtin/*/*.pt"))


def test_one_command_trains_and_says_what_it_will_cost(trained):
    assert "GMAC per step" in trained.output and "parameters, 18 steps" in trained.output
    card = json.loads((trained.folder / "data/06_models/deblur/builtin/card.json").read_text())
    assert card["task"] == "deblur" and card["architecture"] == "idempotent"
    assert card["arguments"]["width"] == 4 and card["training"]["epochs"] == 3
    assert {"psnr", "psnr_3", "gap", "psnr_input"} == set(card["validation"])
    log = (trained.folder / "idemnet.log").read_text()
    assert "GMAC per step" in log and "\x1b" not in log


def test_a_finished_training_is_not_trained_again(copied):
    before = {path: path.stat().st_mtime_ns for path in checkpoints(copied)}
    output = copied.run(*TRAIN).stdout
    assert "done before, nothing to do" in output
    assert before == {path: path.stat().st_mtime_ns for path in checkpoints(copied)}


def test_a_run_with_nothing_to_do_imports_nothing_that_takes_seconds(trained):
    output, imported = trained.run_and_list_imports("kedro", "run", "--pipeline=train_deblur")
    assert output.count("nothing to do") == 7  # six folders, and the training
    assert imported & {"torch", "mlflow", "matplotlib", "sklearn", "skimage"} == set()


def test_a_finished_training_is_published_from_its_record(copied):
    before = weights(copied)
    shutil.rmtree(copied.folder / "data/06_models/deblur")
    for path in checkpoints(copied):
        path.unlink()
    assert "done before, nothing to do" in copied.run(*TRAIN).stdout
    assert weights(copied) == before


def test_mlflow_has_the_run_with_its_parameters_curves_and_model(trained):
    with sqlite3.connect(trained.folder / "mlflow.db") as store:
        [(status,)] = store.execute("select status from runs").fetchall()
        assert status == "FINISHED"
        params = dict(store.execute("select key, value from params").fetchall())
        assert params["train.learning_rate"] == "0.002"
        assert params["train.network.width"] == "4"
        keys = {key for (key,) in store.execute("select distinct key from metrics").fetchall()}
        assert {"step/total", "epoch/sharp_1", "epoch/validation/psnr"} <= keys
        [(name,)] = store.execute("select name from registered_models").fetchall()
        assert name == "idemnet-deblur"
        aliases = store.execute("select alias, version from registered_model_aliases").fetchall()
        assert aliases == [("champion", 1)]


def test_the_paper_environment_holds_the_paper_s_settings_and_starts_on_a_cpu(project):
    """One step, with the paper's network; smaller crops, since a CPU needs minutes for 6 x 256²."""
    sources = project.folder / "conf/paper/parameters_deblur.yml"
    settings = yaml.safe_load(sources.read_text())
    archive = project.folder / "GOPRO_Large.zip"
    picture = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    with zipfile.ZipFile(archive, "w") as file:
        for number in range(7):
            for role in ("blur", "blur_gamma", "sharp"):
                name = f"train/GOPR000{number}_07_00/{role}/000001.png"
                file.writestr(name, encode_png(picture))
    settings["deblur"]["source"]["archive"]["addresses"] = [str(archive)]
    settings["deblur"]["source"]["expected"] = {}
    sources.write_text(yaml.safe_dump(settings))
    params = "deblur.crop.size=32,deblur.crop.stride=32,deblur.train.crop=32,deblur.train.epochs=1"
    params = f"--params={params},deblur.train.workers=0"
    project.run(*TRAIN, "--env=paper", "--to-nodes=deblur.train", params)
    card = json.loads((project.folder / "data/06_models/deblur/paper/card.json").read_text())
    assert card["parameters"] == 3_117_411
    expected = {
        "passes": 2, "alphas": [1.0, 1.0], "idempotence_weight": 0.1, "single_pass_epochs": 0,
        "batch_size": 6, "learning_rate": 1e-4, "schedule": "step", "decay": 0.5,
        "decay_epochs": 500, "saturation": [0.8, 1.2], "gradient_clip": None, "ema_decay": 0.0,
        "detach_between_passes": False,
    }  # fmt: skip
    assert card["environment"]["precision"] == "float32"
    assert {key: card["training"][key] for key in expected} == expected
    network = {"width": 32, "iterations": 6, "feature_recurrence": True, "code_recurrence": True}
    assert {key: card["arguments"][key] for key in network} == network
