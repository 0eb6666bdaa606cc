"""Of two DVC commands on one stage the second is rejected; on two, both finish, if not at once."""

import pytest

from ..conftest import Project
from ..end_to_end.test_dvc import make_repository, set_tasks

REFUSALS = ("is busy", "Unable to acquire lock", "in use by process")


def both(project: Project, *commands: tuple[str, ...]) -> dict[int, list[str]]:
    """Start commands together; give what each said, by its exit code."""
    running = [project.start(*command) for command in commands]
    said: dict[int, list[str]] = {}
    for run in running:
        output, _ = run.communicate(timeout=900)
        said.setdefault(run.returncode, []).append(output)
    return said


def check_second_is_refused(project: Project, stage: str) -> None:
    command = ("dvc", "repro", stage)
    said = both(project, command, command)
    assert len(said.pop(0)) == 1, said
    [[refused]] = said.values()
    assert any(why in refused for why in REFUSALS), refused
    assert "up to date" in project.run("dvc", "repro", stage).stdout
    assert project.run("dvc", "status", stage).stdout.strip().endswith("up to date.")


def test_the_second_on_one_stage_is_rejected_and_data_are_intact(tmp_path, prepared):
    project = make_repository(tmp_path / "project")
    check_second_is_refused(project, "download@deblur")
    expected = {name: data for name, data in prepared.bytes_below().items() if "01_raw" in name}
    assert project.bytes_below() == expected


@pytest.mark.slow
def test_the_second_training_is_rejected_and_the_first_is_as_alone(tmp_path, trained):
    project = make_repository(tmp_path / "project")
    check_second_is_refused(project, "train@deblur")
    name = "06_models/deblur/builtin/weights.safetensors"
    assert project.bytes_below()[name] == trained.bytes_below()[name]


@pytest.mark.slow
def test_two_tasks_both_end_or_one_is_rejected_and_passes_when_tried_again(tmp_path, trained):
    project = make_repository(tmp_path / "project")
    set_tasks(project, "deblur", "dehaze")
    commands = [("dvc", "repro", f"train@{task}") for task in ("deblur", "dehaze")]
    ended = both(project, *commands)
    assert 0 in ended, ended
    for code, said in ended.items():
        assert code == 0 or all(any(why in one for why in REFUSALS) for one in said), said
    for command in commands:
        project.run(*command)
        assert "up to date" in project.run(*command).stdout
    name = "06_models/deblur/builtin/weights.safetensors"
    assert project.bytes_below()[name] == trained.bytes_below()[name]
