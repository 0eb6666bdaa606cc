"""A run killed at any rename, fsync or opening of a file resumes to the same bytes as undisturbed.

Calls are counted in an undisturbed run of `kedro run --pipeline=train_deblur`, in all its processes
together. Then one project after the other is killed at one of them (SIGKILL, all processes),
everything published is compared with its manifest, and the command is run again.
"""

import copy
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ..conftest import REPOSITORY, SMALL, Project, environment

HARNESS = Path(__file__).parent / "killing"
PREPARE = ["kedro", "run", "--pipeline=train_deblur", "--to-nodes=deblur.crop"]
TRAIN = ["kedro", "run", "--pipeline=train_deblur"]
TINY = copy.deepcopy(SMALL["deblur"])
TINY["source"]["builtin"] |= {"train": 1, "frames": 9}
TINY["synthesize"] = {"levels": [3], "stride": 3}
TINY["train"] |= {"epochs": 2, "checkpoint_steps": 1}
TINY["evaluate"] |= {"noise": [0], "samples": 1}
OTHER = copy.deepcopy(TINY)
OTHER["source"]["builtin"] |= {"seed": 1}


class Sweep:
    """Runs commands in projects, in a process that has imported everything."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = f"{HARNESS}:{REPOSITORY / 'src'}"
        self.process = subprocess.Popen(
            [sys.executable, HARNESS / "preloaded.py"], cwd=folder, text=True,
            env=environment(PYTHONPATH=path),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def run(self, project: Project, command: list[str], at: int = 0) -> tuple[int, int]:
        """Return the exit code, and how many calls there were."""
        counter = self.folder / "calls"
        counter.unlink(missing_ok=True)
        order = {"root": str(project.folder), "file": str(counter), "at": at, "command": command}
        print(json.dumps(order), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline()), counter.stat().st_size

    def finish(self, project: Project, command: list[str]) -> int:
        code, calls = self.run(project, command)
        assert code == 0, (self.folder / "output").read_text()
        return calls


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    sweep = Sweep(tmp_path_factory.mktemp("sweep"))
    yield sweep
    sweep.process.stdin.close()
    sweep.process.wait()
    sweep.process.stdout.close()


def tiny_project(folder: Path, parameters: dict = TINY) -> Project:
    project = Project(folder)
    project.set_parameters({"deblur": parameters})
    return project


def see_that_all_is_whole(project: Project) -> None:
    """Compare everything published with what was recorded of it; nothing else may lie there."""
    data = project.folder / "data"
    published = [path for path in data.glob("*/deblur/builtin") if "runs" not in path.parts]
    for folder in published:
        files = [path for path in folder.rglob("*") if path.is_file()]
        there = {path.relative_to(folder).as_posix() for path in files}
        if folder.parts[-3] == "06_models":
            card = json.loads((folder / "card.json").read_bytes())
            assert sha256(folder / "weights.safetensors") == card["sha256"]
            assert there == {"card.json", "history.json", "weights.safetensors"}
            continue
        listed = json.loads((folder / "manifest.json").read_bytes())["files"]
        assert there == {"manifest.json", *listed}
        for name, (size, expected) in listed.items():
            assert (folder / name).stat().st_size == size
            assert sha256(folder / name) == expected
    for checkpoint in data.glob("06_models/runs/deblur/builtin/*/*.pt"):
        assert checkpoint.stem.endswith(sha256(checkpoint))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def results(project: Project) -> dict[str, object]:
    """What must be the same in every run: data, weights and metrics."""
    data = project.folder / "data"
    found = {
        str(path.relative_to(data)): sha256(path)
        for step in ("01_raw", "03_primary", "05_model_input")
        for path in sorted((data / step / "deblur/builtin").rglob("*"))
        if path.is_file()
    }
    if (metrics := data / "08_reporting/deblur/builtin/metrics.json").exists():
        found["metrics"] = metrics.read_bytes()
        found["weights"] = sha256(data / "06_models/deblur/builtin/weights.safetensors")
    return found


def spread(count: int, calls: int) -> list[int]:
    """Choose calls evenly, the first and the last among them."""
    return sorted({1 + round(number * (calls - 1) / (count - 1)) for number in range(count)})


def sweep_over(sweep: Sweep, begun: Project, command: list[str], kills: int) -> str:
    """Kill a copy of a project at each of some calls; say how many were tried and survived."""
    undisturbed = sweep.folder / "undisturbed"
    shutil.copytree(begun.folder, undisturbed)
    calls = sweep.finish(Project(undisturbed), command)
    expected = results(Project(undisturbed))
    assert ("weights" in expected) == (command == TRAIN)
    chosen, killed = spread(kills, calls), 0
    for at in chosen:
        project = Project(shutil.copytree(begun.folder, sweep.folder / "project"))
        code, reached = sweep.run(project, command, at)
        # Threads and workers take turns by chance, so a run may have a call or two less.
        assert (code, reached) == (-9, at - 1) or (code == 0 and at > calls - 5), at
        killed += code == -9
        see_that_all_is_whole(project)
        sweep.finish(project, command)
        see_that_all_is_whole(project)
        assert results(project) == expected, at
        assert hidden_below(project) == [], at
        tell_mlflow_once(project)
        shutil.rmtree(project.folder)
    shutil.rmtree(undisturbed)
    return f"kills survived {killed} / {killed}, spread over {calls} calls"


def hidden_below(project: Project) -> list[str]:
    """What a killed run has left beside or in what is published."""
    return [str(path) for path in (project.folder / "data").glob("*/deblur/**/.*")]


def tell_mlflow_once(project: Project) -> None:
    if (store := project.folder / "mlflow.db").exists():
        with closing(sqlite3.connect(store)) as opened:
            twice = "select key, step from metrics group by run_uuid, key, step having count(*) > 1"
            assert opened.execute(twice).fetchall() == []


def test_a_few_kills_while_data_are_prepared(sweep, record_property):
    begun = tiny_project(sweep.folder / "begun")
    record_property("figure", sweep_over(sweep, begun, PREPARE, 5))


@pytest.mark.slow
def test_kills_all_along_a_first_run(sweep, record_property):
    begun = tiny_project(sweep.folder / "first")
    record_property("figure", sweep_over(sweep, begun, TRAIN, 60))


@pytest.mark.slow
def test_kills_all_along_a_run_that_replaces_another_s_results(sweep, record_property):
    begun = tiny_project(sweep.folder / "second", OTHER)
    sweep.finish(begun, TRAIN)
    begun.set_parameters({"deblur": TINY})
    record_property("figure", sweep_over(sweep, begun, TRAIN, 24))
