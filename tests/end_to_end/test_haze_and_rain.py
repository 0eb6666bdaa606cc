"""Dehazing and deraining, run as a user would."""

import json

import numpy as np
import pytest
import yaml

from idemnet.media.image_files import write_image

MADE = {"dehaze": "hazy", "derain": "rainy"}


@pytest.mark.parametrize("task", ["dehaze", pytest.param("derain", marks=pytest.mark.slow)])
def test_one_command_makes_everything(project, task):
    project.run("kedro", "run", f"--pipeline=prepare_{task}")
    below = project.bytes_below()
    for name in (
        f"01_raw/{task}/builtin/train/scene_002/000000.png",
        f"03_primary/{task}/builtin/train/scene_000/clean/000000.png",
        f"03_primary/{task}/builtin/test/scene_000/{MADE[task]}_02/000000.png",
        f"05_model_input/{task}/builtin/train/patches.npy",
        f"05_model_input/{task}/builtin/validation/index.csv",
    ):
        assert name in below
    again = project.run("kedro", "run", f"--pipeline=prepare_{task}").stdout
    assert again.count("unchanged, nothing to do") == 3
    other = project.run("kedro", "run", f"--pipeline=prepare_{task}",
                        f"--params={task}.synthesize.seed=1").stdout  # fmt: skip
    assert other.count("unchanged, nothing to do") == 1
    name = f"03_primary/{task}/builtin/test/scene_000/{MADE[task]}_02/000000.png"
    assert project.bytes_below()[name] != below[name]


@pytest.mark.slow
def test_dehazing_is_trained_and_scored_level_by_level(project):
    project.run("kedro", "run", "--pipeline=train_dehaze")
    folder = project.folder / "data/08_reporting/dehaze/builtin"
    found = json.loads((folder / "metrics.json").read_text())
    assert (found["task"], found["protocol"], found["images"]) == ("dehaze", "rgb", 2)
    assert list(found["levels"]) == ["1", "2"]
    assert found["levels"]["1"]["input"]["psnr"] != found["levels"]["2"]["input"]["psnr"]
    again = project.run("kedro", "run", "--pipeline=evaluate_dehaze").stdout
    assert again.count("unchanged, nothing to do") == 2


def test_the_paper_s_haze_waits_for_a_folder_and_then_uses_it(project):
    """conf/paper says which data; where it is, is said on the command line."""
    paper = ("kedro", "run", "--env=paper")
    refused = project.run(*paper, "--pipeline=prepare_dehaze", check=False)
    assert refused.returncode == 1
    assert "source.folder.path must say where the data is" in refused.stderr
    assert "Traceback" not in refused.stdout + refused.stderr

    folder = project.folder / "my RESIDE"
    for split, number in (("train", 1), ("train", 2), ("test", 1400)):
        write_image(folder, f"{split}/clear/{number}.png", np.zeros((84, 84, 3), np.uint8))
        write_image(folder, f"{split}/hazy/{number}_1.png", np.zeros((64, 64, 3), np.uint8))
    place = project.folder / "conf/paper/parameters_dehaze.yml"
    source = yaml.safe_load(place.read_text())["dehaze"]["source"]
    place.unlink()
    small = {
        "source": {**source, "expected": {"train_images": 2, "height": 64}},
        "crop": {"size": 32, "stride": 32, "min_contrast": 0},
        "train": {"crop": 32},
    }
    project.set_parameters({"dehaze": small}, env="paper")
    where = f"--params=dehaze.source.folder.path={folder}"
    project.run(*paper, "--pipeline=prepare_dehaze", where)
    below = project.bytes_below()
    assert "05_model_input/dehaze/paper/train/patches.npy" in below
    assert not any(name.endswith(".png") for name in below)
