"""Weights that are shipped: small, described, and better than nothing."""

import copy
import json
import shutil
import sys
from importlib.resources import files

import numpy as np
import pytest
import yaml
from PIL import Image

from idemnet import Restorer
from idemnet.errors import BadInputError
from idemnet.imaging.metrics import psnr
from idemnet.imaging.scenes import render_frames
from idemnet.inference.find_weights import find_starter, find_weights
from idemnet.inference.receptive_field import measure_overlap
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.parameters.source import SceneParameters
from idemnet.parameters.train import TrainParameters

from .conftest import SMALL
from .pipelines.test_mix import real_pairs
from .test_project import loader

STARTER = files("idemnet") / "starter"
SHIPPED = sorted(place.name for place in STARTER.iterdir() if place.is_dir())


@pytest.mark.parametrize("task", SHIPPED)
def test_they_are_small_and_say_what_they_are(task):
    path = find_starter(task)
    assert path.stat().st_size <= 10_000_000
    card = json.loads(path.with_name("card.json").read_text())
    assert card["task"] == task
    assert {"command", "dataset", "hours", "scores", "training", "sha256"} <= card.keys()


@pytest.mark.parametrize("task", SHIPPED)
def test_their_cards_have_the_tile_overlap(task):
    restorer = Restorer.load(task, device="cpu")
    measured = measure_overlap(restorer.model, "cpu")
    assert restorer.card["tile_overlap"] == pytest.approx(measured, abs=4)  # CPUs round differently


def test_deblurring_is_there():
    assert "deblur" in SHIPPED


def test_blurred_scenes_become_better_and_none_much_worse():
    """The mean is above the input, no image 0.1 dB below; ten passes keep what one gained."""
    scene = SceneParameters(seed=5, frames=11, height=128, width=192)
    photographs = [one for one in PHOTOGRAPHS if one.split == "test"]
    restore = Restorer.load("deblur", device="cpu")
    gains, losses = [], []
    for number in range(6):
        frames = list(render_frames(scene, "test", number, photographs))
        sharp = frames[5]
        blurred = np.rint(np.mean(np.stack(frames), axis=0)).astype(np.uint8)
        image = once = restore(blurred)
        for _ in range(9):
            image = restore(image)
        gains.append(psnr(once, sharp) - psnr(blurred, sharp))
        losses.append(psnr(once, sharp) - psnr(image, sharp))
    assert np.mean(gains) > 0.1
    assert min(gains) > -0.1
    assert np.mean(losses) < 0.05


def test_weights_that_are_shipped_for_other_tasks_are_taken(project):
    """By the command and by the page: as if some for haze and rain lay beside those for blur."""
    starter = project.folder / "src/idemnet/starter"
    for task in ("dehaze", "derain"):
        shutil.copytree(starter / "deblur", starter / task, dirs_exist_ok=True)
        card = json.loads((starter / "deblur/card.json").read_text()) | {"task": task}
        (starter / task / "card.json").write_text(json.dumps(card))
    Image.new("RGB", (60, 40), "grey").save(project.folder / "hazy.tif")
    here = ("env", "PYTHONPATH=src")
    project.run(*here, "idemnet", "restore", "hazy.tif", "--task", "dehaze")
    assert (project.folder / "hazy_restored.tif").is_file()
    code = (
        "from pathlib import Path; from idemnet.app.samples import make_samples;"
        "from idemnet.app.serve import load_restorers; from idemnet.app.weights import *;"
        "there = load_restorers(); print(*there, describe_missing(there));"
        "print(*(sample.task for sample in make_samples(Path(), there)))"
    )
    said = project.run(*here, sys.executable, "-c", code).stdout
    assert said == "deblur dehaze derain None\ndeblur deblur dehaze derain\n"


def test_a_task_without_weights_says_how_to_get_some(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("idemnet.inference.find_weights.files", lambda _: tmp_path)
    said = "no weights for task 'derain' yet: train them with `kedro run --pipeline=train_derain`"
    with pytest.raises(BadInputError, match=said):
        find_weights("derain")


@pytest.mark.parametrize("task", SHIPPED)
def test_a_picture_is_restored_with_nothing_else_at_hand(task, project):
    """As after installing: no training, no data, no server."""
    size = (40, 60, 3)
    given = np.random.default_rng(0).integers(0, 256, size, np.uint8)
    Image.fromarray(given).save(project.folder / "photo.jpg")
    project.run("idemnet", "restore", "photo.jpg", "--task", task)
    assert np.asarray(Image.open(project.folder / "photo_restored.jpg")).shape == size


@pytest.mark.slow
def test_its_page_s_command_trains_it(project):
    """Small, as everything in tests: on real pairs and scenes, with photographs of one's own."""
    place = project.folder / "conf/starter/parameters_deblur.yml"
    starter = yaml.safe_load(place.read_text())["deblur"]
    small = copy.deepcopy(SMALL["deblur"])
    small["train"] = {**starter["train"], **small["train"]}
    small["train"] |= {"model": starter["train"]["model"], "network": {"unet": {"width": 4}}}
    small["evaluate"] = {**starter["evaluate"], **small["evaluate"]}
    mix = starter["source"]["mix"]
    real_pairs(project.folder.parent / "gopro_third")
    mix["gopro_third"] |= {"expected": {}, "crop": {"validation_sequences": ["a_07_00"]}}
    mix["scenes"]["builtin"] |= small["source"]["builtin"]
    small["source"] = starter["source"]
    place.write_text(yaml.safe_dump({"deblur": small}))
    photographs = project.folder / "data/01_raw/photographs"
    photographs.mkdir(parents=True)
    meadow = np.random.default_rng(0).integers(0, 256, (300, 400, 3), np.uint8)
    Image.fromarray(meadow).save(photographs / "meadow.jpg")
    project.run("kedro", "run", "--env=starter", "--pipeline=train_deblur")
    card = json.loads((project.folder / "data/06_models/deblur/starter/card.json").read_text())
    assert card["training"]["gradient_clip"] == starter["train"]["gradient_clip"]
    assert card["architecture"] == "unet"
    assert card["sources"] == {"gopro_third": 3.0, "scenes": 1.0}
    report = project.folder / "data/08_reporting/deblur/starter/metrics.json"
    metrics = json.loads(report.read_text())
    assert (metrics["dataset"], metrics["images"]) == ("gopro_third", 1)


@pytest.mark.parametrize("task", SHIPPED)
def test_the_starter_environment_trains_them_as_documented(task):
    configured = loader("starter")["parameters"][task]
    source = configured["source"]
    scenes = source["mix"]["scenes"] if source["kind"] == "mix" else source
    assert scenes["builtin"]["train"] == (300 if task == "deblur" else 500)  # docs/starter.md
    assert scenes["builtin"]["photographs"]
    card = json.loads(find_starter(task).with_name("card.json").read_text())
    training = TrainParameters.model_validate(configured["train"]).model_dump(mode="json")
    assert training["model"] == card["architecture"]
    for key in ("passes", "epochs", "single_pass_epochs", "crop", "batch_size", "learning_rate"):
        assert training[key] == card["training"][key], key
