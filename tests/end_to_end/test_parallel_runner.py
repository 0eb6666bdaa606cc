"""`kedro run --runner=ParallelRunner` runs every kind of pipeline, without warnings."""

import copy
import json

import pytest

from ..conftest import SMALL, Project


def run_parallel(project: Project, pipeline: str) -> str:
    done = project.run("kedro", "run", f"--pipeline={pipeline}", "--runner=ParallelRunner")
    said = done.stdout + done.stderr
    assert "warn" not in said.lower(), said  # Kedro warns of nodes that are partials
    return said


def test_data_is_the_same_as_with_the_sequential_runner(project, prepared):
    run_parallel(project, "prepare_deblur")
    assert project.bytes_below() == prepared.bytes_below()


@pytest.mark.slow
def test_a_training_is_the_same(project, trained):
    run_parallel(project, "train_deblur")
    published, expected = project.bytes_below(), trained.bytes_below()
    for file in ("06_models/deblur/builtin/weights.safetensors",
                 "08_reporting/deblur/builtin/metrics.json"):  # fmt: skip
        assert published[file] == expected[file]


@pytest.mark.slow
def test_a_study_publishes_tables_and_page(copied):
    study = {
        "seeds": 1,
        "train": {"epochs": 2, "single_pass_epochs": 1, "crop": 16},
        "evaluate": {"detailed_images": 1, "samples": 1},
        "studies": {"noise": {"cells": ["idempotent"]}},
    }
    copied.set_parameters({**copy.deepcopy(SMALL), "study": study})
    run_parallel(copied, "study_noise")
    place = copied.folder / "data/08_reporting/studies"
    [outcome] = json.loads((place / "builtin/noise/results.json").read_bytes())["outcomes"]
    assert outcome["failure"] == ""
    assert 'id="noise"' in (place / "builtin.html").read_text(encoding="utf-8")
