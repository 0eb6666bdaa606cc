"""Evaluation and report, run as a user would."""

import json
import os
import shutil
import signal
import sqlite3
import time

import pytest
import yaml

from ..conftest import SMALL, Project

EVALUATE = ("kedro", "run", "--pipeline=evaluate_deblur")
REPORTING = "data/08_reporting/deblur/builtin"
SCORES = "data/07_model_output/deblur/builtin/scores.json"


def metrics(project: Project) -> dict:
    return json.loads((project.folder / REPORTING / "metrics.json").read_text())


def test_training_ends_with_figures_and_a_report(trained):
    found = metrics(trained)
    assert (found["task"], found["dataset"], found["protocol"]) == ("deblur", "builtin", "gopro")
    assert found["images"] == found["input"]["images"] == found["restored"]["images"]
    assert list(found["levels"]) == ["3", "5"]
    assert len(found["repeat"]["psnr"]) == 3
    assert found["noise"].keys() == {"0", "10"}
    assert found["cost"]["macs"].keys() == {"1280x720", "256x256"}
    for name in ("report.html", "images.csv", "repeat.csv", "training.csv", "plots/repeat.svg"):
        assert (trained.folder / REPORTING / name).stat().st_size > 0


def test_mlflow_has_the_figures_as_curves_and_the_report_as_artifacts(trained):
    with sqlite3.connect(trained.folder / "mlflow.db") as store:
        curve = store.execute(
            "select step, value from metrics where key = 'test/repeat/psnr' order by step"
        ).fetchall()
        levels = store.execute(
            "select step from metrics where key = 'test/levels/restored/psnr' order by step"
        ).fetchall()
        [(place,)] = store.execute("select artifact_uri from runs").fetchall()
    assert curve == list(enumerate(metrics(trained)["repeat"]["psnr"], 1))
    assert levels == [(3,), (5,)]
    assert (trained.folder / place.removeprefix("file://") / "report/report.html").is_file()


def test_what_was_evaluated_is_not_evaluated_again(copied):
    before = copied.bytes_below("data/08_reporting")
    output = copied.run(*EVALUATE).stdout
    assert output.count("unchanged, nothing to do") == 2
    assert copied.bytes_below("data/08_reporting") == before


@pytest.mark.slow
def test_killed_while_evaluating_the_same_command_resumes(copied):
    expected = json.loads((copied.folder / SCORES).read_text())
    shutil.rmtree(copied.folder / "data/07_model_output")
    run = copied.start(*EVALUATE)
    journals = copied.folder / "data/07_model_output/deblur"
    while run.poll() is None and not any(
        path.read_text().count("\n") > 2 for path in journals.glob(".builtin.*/journals/*")
    ):
        time.sleep(0.002)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    assert run.returncode == -signal.SIGKILL
    [journal] = journals.glob(".builtin.*/journals/0.jsonl")
    time.sleep(0.5)  # the worker sees that its parent is gone
    [kept] = journal.read_text().splitlines()
    copied.run(*EVALUATE)
    found = json.loads((copied.folder / SCORES).read_text())
    assert found["rows"] == expected["rows"]
    assert json.loads(kept) == ["cost", found["cost"]]  # measured once, before the kill


def test_a_protocol_that_does_not_fit_is_rejected_unless_forced(copied):
    evaluate = {**SMALL["deblur"]["evaluate"], "protocol": "rain"}
    copied.set_parameters({"deblur": {**SMALL["deblur"], "evaluate": evaluate}})
    refused = copied.run(*EVALUATE, check=False)
    assert refused.returncode != 0
    assert "protocol 'rain' does not fit task 'deblur'" in refused.stdout + refused.stderr
    assert metrics(copied)["protocol"] == "gopro"
    copied.run(*EVALUATE, "--params=deblur.evaluate.force_protocol=true")
    assert metrics(copied)["protocol"] == "rain"
    assert metrics(copied)["restored"].keys() == {"psnr", "ssim", "images"}


@pytest.mark.slow
def test_runs_are_compared_side_by_side(copied):
    other = yaml.safe_load(yaml.safe_dump(SMALL))
    other["deblur"]["train"]["passes"] = 1
    other["deblur"]["train"]["seed"] = 3
    copied.set_parameters(other)
    copied.run("kedro", "run", "--pipeline=train_deblur")
    assert "without the constraint" in (copied.folder / REPORTING / "report.html").read_text()
    table, imported = copied.run_and_list_imports(
        "idemnet", "compare", "task=deblur", "-o", "curves.svg"
    )
    assert imported & {"torch", "mlflow", "sqlalchemy", "pandas"} == set()  # these take seconds
    rows = {line.split("  ")[0]: line.split()[-2:] for line in table.splitlines()}
    assert sorted(rows["train.passes"]) == ["1", "2"]
    assert sorted(rows["train.seed"]) == ["0", "3"]
    assert "train.learning_rate" not in rows
    assert "restored PSNR" in rows and "lost by repeating" in rows
    assert "<svg" in (copied.folder / "curves.svg").read_text()

    missing = copied.run("idemnet", "compare", "nothing-like-it", check=False)
    assert missing.returncode == 2
    assert "run 'nothing-like-it' not found" in missing.stderr
