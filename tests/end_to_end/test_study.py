"""Studies: shared cells train once, a kill costs one cell, a failure stops no other."""

import copy
import csv
import io
import json
import os
import shutil
import signal
import time

import pytest

from ..conftest import SMALL, Project

STUDY = {
    "seeds": 2,
    "train": {"epochs": 2, "single_pass_epochs": 1, "crop": 16},
    "evaluate": {"detailed_images": 1, "samples": 1},
    "cells": {"dmphn_without": {"weights": "nowhere/weights.safetensors"}},
    "studies": {
        "levels": {"cells": ["idempotent_without", "dmphn_without", "idempotent"]},
        "realblur": {"cells": ["idempotent"]},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def studied(tmp_path_factory) -> Project:
    """A project in which one study was killed and run again, and another has a failing cell."""
    project = Project(tmp_path_factory.mktemp("study") / "project")
    project.set_parameters({**copy.deepcopy(SMALL), "study": STUDY})
    run = project.start("kedro", "run", "--pipeline=study_noise")
    evaluations = project.folder / "data/07_model_output/studies"
    deadline = time.monotonic() + 600
    while not list(evaluations.glob("[!.]*/manifest.json")):
        assert run.poll() is None, run.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    project.output = project.run("kedro", "run", "--pipeline=study_noise").stdout
    return project


@pytest.fixture(scope="module")
def failed(studied):
    return studied.run(
        "kedro", "run", "--pipeline=study_levels", "--params=study.seeds=1", check=False
    )


def folder(project: Project, name: str):
    return project.folder / "data/08_reporting/studies/builtin" / name


def outcomes(project: Project, name: str) -> list[dict]:
    return json.loads((folder(project, name) / "results.json").read_bytes())["outcomes"]


def test_killed_it_resumes_at_the_unfinished_cell(studied):
    first, _ = studied.output.split("(2 of 4)")
    assert "done before, nothing to do" in first
    assert "unchanged, nothing to do" in first.split("(1 of 4)")[1]  # its evaluation
    assert "2 steps" not in first


def test_every_cell_is_measured_with_every_seed(studied):
    found = [(one["cell"], one["seed"]) for one in outcomes(studied, "noise")]
    assert found == [
        ("idempotent_without", 0), ("idempotent", 0), ("idempotent_without", 1), ("idempotent", 1),
    ]  # fmt: skip
    settings = [one["settings"] for one in outcomes(studied, "noise")]
    assert [one["train.passes"] for one in settings] == [1, 2, 1, 2]
    assert [one["train.seed"] for one in settings] == [0, 0, 1, 1]
    psnr = [one["metrics"]["restored"]["psnr"] for one in outcomes(studied, "noise")]
    assert len(set(psnr)) == 4
    assert {one["updates"] for one in outcomes(studied, "noise")} == {12}  # two epochs
    assert all(0 < one["hours"] < 1 for one in outcomes(studied, "noise"))


def test_its_files(studied):
    names = {path.name for path in folder(studied, "noise").iterdir()}
    assert {"table.csv", "table.md", "figure.svg", "results.json"} <= names
    table = (folder(studied, "noise") / "table.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["noise"] for row in rows] == ["0", "10"]
    found = [one["metrics"]["noise"]["10"]["restored"]["psnr"]
             for one in outcomes(studied, "noise") if one["cell"] == "idempotent"]  # fmt: skip
    assert float(rows[1]["idempotent, with the constraint"]) == pytest.approx(sum(found) / 2)
    assert rows[1]["paper: with the constraint"] == "29.66"


def test_a_failing_cell_is_named_and_hides_no_other(studied, failed):
    assert failed.returncode == 1
    assert "1 of 3 cells failed: dmphn_without (seed 0);" in failed.stderr
    kept = {one["cell"]: one["failure"] for one in outcomes(studied, "levels")}
    assert "nowhere/weights.safetensors: not found" in kept["dmphn_without"]
    assert kept["idempotent"] == kept["idempotent_without"] == ""
    text = (folder(studied, "levels") / "table.md").read_text()
    assert "| failed |" in text
    assert "DMPHN, without, seed 0: BadInputError" in text


def test_cells_of_other_studies_are_not_trained_again(failed):
    assert failed.stdout.count("done before, nothing to do") == 2
    assert "GMAC per step" not in failed.stdout


def test_one_page_shows_every_study_that_was_run(studied, failed):
    page = (studied.folder / "data/08_reporting/studies/builtin.html").read_text()
    assert 'id="levels"' in page
    assert 'id="noise"' in page
    assert 'id="ablation"' not in page
    assert page.count("<svg") == 2


def test_cells_are_runs_below_their_study_in_mlflow(studied, failed):
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{studied.folder}/mlflow.db")
    experiment = client.get_experiment_by_name("idemnet-studies")
    runs = client.search_runs([experiment.experiment_id])
    parents = {run.info.run_id: run.info.run_name for run in runs
               if "mlflow.parentRunId" not in run.data.tags}  # fmt: skip
    parents = {number: name for number, name in parents.items() if name != "study-realblur"}
    runs = [run for run in runs if run.data.tags["study"] in ("noise", "levels")]
    assert sorted(parents.values()) == ["study-levels", "study-noise"]
    assert {run.info.status for run in runs if run.info.run_id in parents} == {"FINISHED"}
    children = [
        (parents[run.data.tags["mlflow.parentRunId"]], run.info.run_name, run.info.status)
        for run in runs
        if "mlflow.parentRunId" in run.data.tags
    ]
    cells = ("idempotent", "idempotent_without")
    assert sorted(children) == sorted(
        [("study-noise", f"{cell}-{seed}", "FINISHED") for cell in cells for seed in (0, 1)]
        + [("study-levels", f"{cell}-0", "FINISHED") for cell in cells]
        + [("study-levels", "dmphn_without-0", "FAILED")]
    )
    [one] = [run for run in runs if run.info.run_name == "idempotent-1"
             and parents[run.data.tags["mlflow.parentRunId"]] == "study-noise"]  # fmt: skip
    [psnr] = [one["metrics"]["restored"]["psnr"] for one in outcomes(studied, "noise")
              if (one["cell"], one["seed"]) == ("idempotent", 1)]  # fmt: skip
    assert one.data.metrics["test/restored/psnr"] == pytest.approx(psnr)


@pytest.mark.slow
def test_realblur_is_scored_set_by_set_with_weights_that_never_saw_it(studied, failed):
    place = studied.folder / "realblur"
    pairs = json.loads(
        (studied.folder / "data/03_primary/deblur/builtin/manifest.json").read_bytes()
    )
    tests = [pair for pair in pairs["about"]["pairs"] if pair["split"] == "test"]
    for name, pair in zip(("RealBlur_J", "RealBlur_R"), tests, strict=False):
        for role, file in (("input", pair["degraded"]), ("target", pair["clean"])):
            (place / "test" / name / role).mkdir(parents=True)
            shutil.copy(
                studied.folder / "data/03_primary/deblur/builtin" / file,
                place / "test" / name / role / "1.png",
            )
    missing = studied.run("kedro", "run", "--pipeline=study_realblur", check=False)
    assert missing.returncode == 1
    assert "folder.path must say where the data is" in missing.stderr
    parameters = f"--params=realblur.folder.path={place},study.seeds=1"
    done = studied.run("kedro", "run", "--pipeline=study_realblur", parameters)
    assert "GMAC per step" not in done.stdout
    found = {one["sequence"]: one["metrics"] for one in outcomes(studied, "realblur")}
    assert found.keys() == {"RealBlur_J", "RealBlur_R"}
    assert {metrics["protocol"] for metrics in found.values()} == {"realblur"}
    text = (folder(studied, "realblur") / "table.md").read_text()
    assert "| idempotent, with the constraint: RealBlur_R |" in text
    assert "| 35.86 | 0.951 |" in text


def test_a_cell_that_cannot_be_trained_is_rejected_before_anything_runs(project):
    wrong = {"cells": {"idempotent": {"train": {"epochs": 0}}}}
    project.set_parameters({**copy.deepcopy(SMALL), "study": wrong})
    result = project.run("kedro", "run", "--pipeline=study_noise", check=False)
    assert result.returncode == 1
    assert "study.cells.idempotent.train.epochs: Input should be greater than 0" in result.stderr
    assert not (project.folder / "data").exists()


def test_unknown_studies_and_cells_are_rejected_before_anything_runs(project):
    wrong = {
        "cells": {"idempotnet": {"weights": "x"}},
        "studies": {"nose": {"train": {}}, "noise": {"cells": ["idempotent", "dmphn"]}},
    }
    project.set_parameters({**copy.deepcopy(SMALL), "study": wrong})
    result = project.run("kedro", "run", "--pipeline=study_noise", check=False)
    assert result.returncode == 1
    assert "study.cells.idempotnet: unknown cell" in result.stderr
    assert "study.studies.nose: unknown study" in result.stderr
    assert "study.studies.noise.cells: has no cell 'dmphn'" in result.stderr
    assert not (project.folder / "data").exists()
