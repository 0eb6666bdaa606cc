"""The first three steps, run as a user would."""

import csv
import json
import time

import numpy as np

from ..media.test_frames import write_video

STEPS = {"download": "data/01_raw", "synthesize": "data/03_primary", "crop": "data/05_model_input"}


def made(output: str) -> set[str]:
    """Which steps did work, by what the log says."""
    return {step for step, folder in STEPS.items() if f"{folder}/deblur/builtin: " in output
            and f"{folder}/deblur/builtin: unchanged" not in output}  # fmt: skip


def test_one_command_makes_everything(prepared):
    names = set(prepared.bytes_below())
    for name in (
        "01_raw/deblur/builtin/train/scene_000/000018.png",
        "01_raw/deblur/builtin/depth/test/scene_000.png",
        "03_primary/deblur/builtin/validation/scene_000/blurred_05/000009.png",
        "03_primary/deblur/builtin/test/scene_000/sharp/000009.png",
        "05_model_input/deblur/builtin/train/patches.npy",
        "05_model_input/deblur/builtin/validation/index.csv",
    ):
        assert name in names
    assert not any("/." in name or name.startswith(".") for name in names)


def test_a_second_run_does_no_work_and_reports_it(project):
    project.run("kedro", "run", "--pipeline=prepare_deblur")
    before = {path: path.stat().st_mtime_ns for path in project.folder.glob("data/**/*.png")}
    begun = time.monotonic()
    output = project.run("kedro", "run", "--pipeline=prepare_deblur").stdout
    assert time.monotonic() - begun < 20
    assert output.count("unchanged, nothing to do") == 3
    assert before == {path: path.stat().st_mtime_ns for path in before}

    project.run("kedro", "run", "--params=deblur.crop.stride=8", "--pipeline=prepare_deblur")
    prepare = ("kedro", "run", "--pipeline=prepare_deblur")
    output = project.run(*prepare).stdout  # back to what conf says: crop alone depends on it
    assert made(output) == {"crop"}

    params = "--params=deblur.synthesize.response=gamma"
    assert made(project.run(*prepare, params).stdout) == {"synthesize", "crop"}


def test_one_step_runs_by_its_tag(project):
    output = project.run("kedro", "run", "--pipeline=train_deblur", "--tags=download").stdout
    assert made(output) == {"download"}
    late = project.run("kedro", "run", "--tags=crop", check=False)
    assert late.returncode == 1
    assert "--pipeline=prepare_deblur --tags=synthesize" in late.stdout + late.stderr


def test_data_sets_live_side_by_side(project):
    """conf/paper, with a tiny GOPRO_Large in a local zip, beside the built-in set."""
    import zipfile

    import yaml

    from idemnet.media.image_files import encode_png

    project.run("kedro", "run", "--pipeline=prepare_deblur")
    before = project.bytes_below()
    archive = project.folder / "GOPRO Large.zip"
    image = encode_png(np.zeros((64, 64, 3), np.uint8))
    with zipfile.ZipFile(archive, "w") as file:
        for name in ("train/GOPR0001_07_00", "train/GOPR0002_11_00", "test/GOPR0003_11_00"):
            for role in ("blur", "blur_gamma", "sharp"):
                file.writestr(f"GOPRO_Large/{name}/{role}/000001.png", image)
    place = project.folder / "conf/paper/parameters_deblur.yml"
    source = yaml.safe_load(place.read_text())["deblur"]["source"]
    place.unlink()
    source["archive"]["addresses"] = [str(archive)]
    source["expected"] = {"train_sequences": 2, "height": 64, "width": 64}
    small = {
        "source": source,
        "crop": {"size": 32, "stride": 32, "min_contrast": 0},
        "train": {"crop": 32},
    }
    project.set_parameters({"deblur": small}, env="paper")
    project.run("kedro", "run", "--env=paper", "--pipeline=prepare_deblur")
    after = project.bytes_below()
    assert {name: after[name] for name in before} == before
    manifest = json.loads(after["03_primary/deblur/paper/manifest.json"])
    assert [(pair["sequence"], pair["level"]) for pair in manifest["about"]["pairs"]] == [
        ("GOPR0003_11_00", 11), ("GOPR0001_07_00", 7), ("GOPR0002_11_00", 11),
    ]  # fmt: skip
    assert "03_primary/deblur/paper/train/GOPR0001_07_00/blur/000001.png" not in after


def test_the_third_of_gopro_holds_out_the_named_sequences(project):
    """conf/gopro_third, with one small pair in each sequence of a stand-in."""
    from idemnet.media.image_files import write_image

    held_out = ["GOPR0374_11_03", "GOPR0380_11_00", "GOPR0868_11_01"]
    sequences = [f"train/{name}" for name in ("GOPR0372_07_00", *held_out)]
    noise = np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8)
    for sequence in (*sequences, "test/GOPR0384_11_00"):
        for role in ("blur", "sharp"):
            write_image(project.folder.parent / "gopro_third", f"{sequence}/{role}/1.png", noise)
    expected = {"train_sequences": 4, "test_sequences": 1, "train_images": 4, "test_images": 1,
                "height": 256, "width": 256}  # fmt: skip
    params = ",".join(f"deblur.source.expected.{name}={value}" for name, value in expected.items())
    prepare = ("kedro", "run", "--env=gopro_third", "--pipeline=prepare_deblur")
    project.run(*prepare, f"--params={params}")
    place = project.folder / "data/05_model_input/deblur/gopro_third"
    validation, train = (
        {
            row["sequence"]
            for row in csv.DictReader((place / split / "index.csv").read_text().splitlines())
        }
        for split in ("validation", "train")
    )
    assert validation == set(held_out)
    assert train == {"GOPR0372_07_00"}


def test_own_videos_become_a_data_set_of_their_own(project):
    """The README's way: two small files in conf/local."""
    videos = project.folder / "my videos"
    videos.mkdir()
    for name in ("walk #1.mp4", "fahrt ü.mp4"):
        write_video(videos / name, count=20)
    local = project.folder / "conf" / "local"
    (local / "globals.yml").write_text("dataset: my_videos")
    (local / "parameters_deblur.yml").write_text(
        f"deblur: {{source: {{kind: videos, videos: {{path: '{videos}'}}}}}}"
    )
    project.run("kedro", "run", "--pipeline=prepare_deblur")
    below = set(project.bytes_below())
    assert "05_model_input/deblur/my_videos/train/patches.npy" in below
    assert "03_primary/deblur/my_videos/train/walk #1/sharp/000003.png" in below
    assert not any("builtin" in name for name in below)
