"""DVC runs the same steps, re-runs exactly what changed, and versions prepared data."""

import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
import yaml

from ..conftest import REPOSITORY, SMALL, Project


def stages_run(output: str) -> list[str]:
    return re.findall(r"Running stage '(\w+)@deblur'", output)


def versioned(project: Project) -> dict[str, bytes]:
    """What DVC keeps; checkpoints and journals of trainings are not among it."""
    return {name: data for name, data in project.bytes_below().items() if "/runs/" not in name}


def change(project: Project, group: str, **values: int) -> None:
    path = project.folder / "conf/base/parameters_deblur.yml"
    settings = yaml.safe_load(path.read_text())
    settings["deblur"][group].update(values)
    path.write_text(yaml.safe_dump(settings))


def set_tasks(project: Project, *tasks: str) -> None:
    """Keep the stages of some tasks; studies are tested by themselves."""
    stages = yaml.safe_load((REPOSITORY / "dvc.yaml").read_text())
    stages["vars"][1]["tasks"] = list(tasks)
    del stages["stages"]["study"]
    (project.folder / "dvc.yaml").write_text(yaml.safe_dump(stages))


def make_repository(folder: Path) -> Project:
    """A project under git and DVC, in which nothing was made yet."""
    project = Project(folder)
    project.set_base(SMALL)
    set_tasks(project, "deblur")  # which stands for all
    shutil.copy(REPOSITORY / ".gitignore", project.folder)
    project.run("git", "init", "-q", "-b", "main")
    project.run("git", "config", "user.email", "a@b.c")
    project.run("git", "config", "user.name", "a")
    project.run("dvc", "init", "-q")
    project.run("dvc", "config", "core.analytics", "false")
    project.run("git", "add", "-A")
    project.run("git", "commit", "-qm", "start")
    return project


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory) -> Project:
    """A repository in which everything was made and committed; tests work on copies."""
    project = make_repository(tmp_path_factory.mktemp("dvc") / "project")
    project.output = project.run("dvc", "repro").stdout
    project.run("git", "add", "-A")
    project.run("git", "commit", "-qm", "made")
    return project


@pytest.fixture
def repository(reproduced, tmp_path) -> Project:
    copy = Project.__new__(Project)
    copy.folder = tmp_path / "project"
    shutil.copytree(reproduced.folder, copy.folder, symlinks=True)
    return copy


def test_every_step_is_a_stage(reproduced):
    assert stages_run(reproduced.output) == [
        "download", "synthesize", "crop", "train", "evaluate", "report",
    ]  # fmt: skip
    assert "up to date" in reproduced.run("dvc", "repro").stdout


def raise_version(project: Project, name: str) -> None:
    own = "tasks/deblur.py" if name == "VERSION" else "steps/versions.py"
    path = project.folder / "src/idemnet" / own
    text = path.read_text()
    [number] = re.findall(rf"^{name} = (\d+)", text, re.MULTILINE)
    path.write_text(text.replace(f"\n{name} = {number}\n", f"\n{name} = {int(number) + 1}\n"))


def recomputed(output: str) -> set[str]:
    """Return the folders of data/ that a run has made anew."""
    return set(re.findall(r"data/(\w+)/deblur/builtin: \d+ files in", output))


def test_a_comment_in_the_source_runs_nothing(repository):
    for path in (repository.folder / "src/idemnet").rglob("*.py"):
        path.write_text(path.read_text() + "\n# a comment\n")
    assert "up to date" in repository.run("dvc", "repro").stdout


def test_other_starter_weights_train_again(repository):
    """Their sha256 is part of a training's fingerprint (training/job.py)."""
    card = repository.folder / "src/idemnet/starter/deblur/card.json"
    content = json.loads(card.read_text())
    card.write_text(json.dumps({**content, "command": "another"}))
    assert json.loads(repository.run("dvc", "status", "--json").stdout) == {}
    card.write_text(json.dumps({**content, "sha256": "0" * 64}))
    assert list(json.loads(repository.run("dvc", "status", "--json").stdout)) == ["train@deblur"]


def test_a_raised_version_recomputes_its_step_and_what_follows(repository):
    """DVC runs these stages, and their steps compute: none of them answers that it is unchanged."""
    raise_version(repository, "EVALUATE")
    done = repository.run("dvc", "repro").stdout
    assert stages_run(done) == ["evaluate", "report"]
    assert recomputed(done) == {"07_model_output", "08_reporting"}
    assert "unchanged" not in done
    assert "up to date" in repository.run("dvc", "repro").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "first"),
    [("RENDER", 0), ("VERSION", 1), ("CROP", 2), ("TRAIN", 3), ("EVALUATE", 4), ("REPORT", 5)],
)
def test_every_raised_version_recomputes_its_step_and_what_follows(repository, version, first):
    raise_version(repository, version)
    done = repository.run("dvc", "repro").stdout
    stages = ["download", "synthesize", "crop", "train", "evaluate", "report"]
    assert stages_run(done) == stages[first:]
    assert "unchanged" not in done


@pytest.mark.slow
def test_versions_of_prepared_data(repository, tmp_path):
    repository.run("dvc", "remote", "add", "-q", "-d", "shelf", str(tmp_path / "shelf"))
    repository.run("git", "commit", "-qam", "shelf")
    original = versioned(repository)

    change(repository, "crop", stride=8)
    assert stages_run(repository.run("dvc", "repro", "crop").stdout) == ["crop"]
    change(repository, "synthesize", stride=5)
    assert stages_run(repository.run("dvc", "repro", "crop").stdout) == ["synthesize", "crop"]
    repository.run("git", "commit", "-qam", "more")
    changed = versioned(repository)
    assert changed != original

    repository.run("dvc", "push", "-q", "--all-commits")
    clone = Project.__new__(Project)
    clone.folder = tmp_path / "clone"
    repository.run("git", "clone", "-q", str(repository.folder), str(clone.folder))
    clone.run("dvc", "pull", "-q")
    assert versioned(clone) == changed
    assert "up to date" in clone.run("dvc", "repro", "crop").stdout

    clone.run("dvc", "fetch", "-q", "--all-commits")
    clone.run("git", "checkout", "-q", "HEAD~1")
    clone.run("dvc", "checkout", "-q")
    assert versioned(clone) == original


@pytest.mark.slow
def test_an_experiment_shows_up_in_dvc_and_in_mlflow(repository):
    shown = json.loads(repository.run("dvc", "metrics", "show", "--json").stdout)
    [figures] = shown[""]["data"].values()
    assert figures["data"]["images"] == 6 and figures["data"]["restored"]["psnr"] > 0

    key = "conf/base/parameters_deblur.yml:deblur.train.idempotence_weight"
    done = repository.run("dvc", "exp", "run", "-S", f"{key}=0.7").stdout
    assert stages_run(done) == ["train", "evaluate", "report"]
    assert "0.7" in repository.run("dvc", "exp", "show", "--csv").stdout
    with sqlite3.connect(repository.folder / "mlflow.db") as store:
        found = store.execute(
            "select value from params where key = 'train.idempotence_weight'"
        ).fetchall()
    assert sorted(found) == [("0.1",), ("0.7",)]

    changes = json.loads(repository.run("dvc", "metrics", "diff", "--json").stdout)
    [metrics] = changes.values()
    assert metrics["restored.psnr"]["diff"] != 0
    repository.run("dvc", "plots", "diff", "HEAD", "-o", "plots")
    page = (repository.folder / "plots/index.html").read_text()
    assert "Repeat curve" in page and "Validation while training" in page
