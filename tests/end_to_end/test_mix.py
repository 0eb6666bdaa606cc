"""The example of docs/training.md: several sources, from their folders to the report."""

import csv
import json
import re

import pytest
import yaml

from ..conftest import REPOSITORY, SMALL, Project
from ..media.test_frames import write_video
from ..pipelines.test_mix import real_pairs


def example() -> dict:
    page = (REPOSITORY / "docs/training.md").read_text(encoding="utf-8")
    section = page.partition("### Several at once")[2]
    return yaml.safe_load(re.search(r"```yaml\n(.*?)```", section, re.DOTALL)[1])


@pytest.fixture
def mixed(project) -> Project:
    """The example with small data: two pairs, a scene, and two videos."""
    real_pairs(project.folder / "GOPRO")
    for name in ("walk.mp4", "test/ride.mp4", "drive.mp4"):
        (project.folder / "videos/test").mkdir(parents=True, exist_ok=True)
        write_video(project.folder / "videos" / name, count=12)
    settings = example()
    mix = settings["deblur"]["source"]["mix"]
    mix["gopro"]["folder"]["path"] = "GOPRO"
    mix["scenes"]["builtin"] |= SMALL["deblur"]["source"]["builtin"]
    mix["my_videos"]["videos"]["path"] = "videos"
    local = project.folder / "conf/local"
    (local / "parameters_deblur.yml").write_text(yaml.safe_dump(settings))
    (local / "globals.yml").write_text("dataset: mixed")
    return project


def test_each_source_is_prepared_in_its_own_folder(mixed):
    said = mixed.run("kedro", "run", "--pipeline=prepare_deblur").stdout
    for layer in ("01_raw", "03_primary", "05_model_input"):
        place = mixed.folder / "data" / layer / "deblur/mixed"
        assert {one.name for one in place.iterdir()} == {
            "manifest.json", "gopro", "scenes", "my_videos",
        }  # fmt: skip
        assert f"data/{layer}/deblur/mixed/scenes: " in said
    again = mixed.run("kedro", "run", "--pipeline=prepare_deblur").stdout
    assert again.count("unchanged, nothing to do") == 9


@pytest.mark.slow
def test_every_image_is_named_by_its_source_up_to_the_report(mixed):
    mixed.run("kedro", "run", "--pipeline=train_deblur")
    report = mixed.folder / "data/08_reporting/deblur/mixed"
    metrics = json.loads((report / "metrics.json").read_text())
    assert metrics["dataset"] == "gopro + my_videos + scenes"
    images = {name: scores["restored"]["images"] for name, scores in metrics["sources"].items()}
    with (report / "images.csv").open() as file:
        names = [row["sequence"].split("/")[0] for row in csv.DictReader(file)]
    assert images == {name: names.count(name) for name in ("gopro", "scenes", "my_videos")}
    page = (report / "report.html").read_text()
    assert "Data set by data set" in page and "my_videos/ride" in page
    card = json.loads((mixed.folder / "data/06_models/deblur/mixed/card.json").read_text())
    assert card["sources"] == {"gopro": 3.0, "scenes": 1.0, "my_videos": 1.0}
