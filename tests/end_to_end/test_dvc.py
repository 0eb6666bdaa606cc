"""DVC runs the same steps, redoes exactly what changed, and keeps prepared data as versions."""

import re
import shutil

import pytest
import yaml

from ..conftest import SMALL, Project


def stages_run(output: str) -> list[str]:
    return re.findall(r"Running stage '(\w+)@deblur'", output)


def put_small_parameters_into_base(project: Project) -> None:
    """DVC watches conf/base, so that is where the small scenes must be said."""
    for name, groups in (("sources", ["source"]), ("parameters_deblur", ["synthesize", "crop"])):
        chosen = {group: SMALL["deblur"][group] for group in groups}
        path = project.folder / f"conf/base/{name}.yml"
        path.write_text(yaml.safe_dump({"deblur": chosen}))
    shutil.rmtree(project.folder / "conf/local")


def change(project: Project, group: str, **values: int) -> None:
    path = project.folder / "conf/base/parameters_deblur.yml"
    settings = yaml.safe_load(path.read_text())
    settings["deblur"][group].update(values)
    path.write_text(yaml.safe_dump(settings))


@pytest.fixture
def repository(project) -> Project:
    put_small_parameters_into_base(project)
    (project.folder / ".gitignore").write_text("data/\n__pycache__/\n*.egg-info/\n")
    project.run("git", "init", "-q", "-b", "main")
    project.run("git", "config", "user.email", "a@b.c")
    project.run("git", "config", "user.name", "a")
    project.run("dvc", "init", "-q")
    project.run("dvc", "config", "core.analytics", "false")
    project.run("dvc", "remote", "add", "-q", "-d", "shelf", str(project.folder.parent / "shelf"))
    project.run("git", "add", "-A")
    project.run("git", "commit", "-qm", "start")
    return project


def test_versions_of_prepared_data(repository, tmp_path):
    first = repository.run("dvc", "repro").stdout
    assert stages_run(first) == ["download", "synthesize", "crop"]
    assert "up to date" in repository.run("dvc", "repro").stdout
    repository.run("git", "add", "-A")
    repository.run("git", "commit", "-qm", "prepared")
    original = repository.bytes_below()

    change(repository, "crop", stride=8)
    assert stages_run(repository.run("dvc", "repro").stdout) == ["crop"]
    change(repository, "synthesize", stride=5)
    assert stages_run(repository.run("dvc", "repro").stdout) == ["synthesize", "crop"]
    repository.run("git", "commit", "-qam", "more")
    changed = repository.bytes_below()
    assert changed != original

    repository.run("dvc", "push", "-q", "--all-commits")
    clone = Project.__new__(Project)
    clone.folder = tmp_path / "clone"
    repository.run("git", "clone", "-q", str(repository.folder), str(clone.folder))
    clone.run("dvc", "pull", "-q")
    assert clone.bytes_below() == changed
    assert "up to date" in clone.run("dvc", "repro").stdout

    clone.run("dvc", "fetch", "-q", "--all-commits")
    clone.run("git", "checkout", "-q", "HEAD~1")
    clone.run("dvc", "checkout", "-q")
    assert clone.bytes_below() == original
