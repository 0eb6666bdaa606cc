"""New processes, other hash seeds and another order of files give the same bytes."""

import json
import random
import shutil
from pathlib import Path

import pytest
import yaml

from ..conftest import Project


def lay_out(frames: Path, source: Path, seed: int) -> None:
    """Put the same frames into a folder, created in an order of their own."""
    shutil.rmtree(frames, ignore_errors=True)
    files = sorted(path for path in source.rglob("*.png") if "depth" not in path.parts)
    random.Random(seed).shuffle(files)
    for path in files:
        target = frames / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)


def run_on(frames: Path, project: Project, pipeline: str, *more: str) -> Project:
    local = project.folder / "conf/local"
    (local / "globals.yml").write_text("dataset: frames")
    source = {"kind": "folder", "layout": "frames", "folder": {"path": str(frames)}}
    (local / "parameters_deblur.yml").write_text(yaml.safe_dump({"deblur": {"source": source}}))
    seeded = ("env", "PYTHONHASHSEED=random")
    project.run(*seeded, "kedro", "run", f"--pipeline={pipeline}", *more)
    return project


def without_timings(files: dict[str, bytes]) -> dict[str, object]:
    """Return what was made except wall-clock times, and records and pages that contain them."""
    kept = {}
    for name, content in files.items():
        measured = name.startswith(("07_model_output", "08_reporting"))
        if name.endswith("scores.json"):
            kept[name] = {k: v for k, v in json.loads(content).items() if k != "cost"}
        elif name.startswith("06_models/runs"):
            continue
        elif not measured or "/sample_" in name or name.endswith("metrics.json"):
            kept[name] = content
    return kept


@pytest.mark.parametrize(
    "pipeline", ["prepare_deblur", pytest.param("train_deblur", marks=pytest.mark.slow)]
)
def test_runs_in_fresh_processes(make_project, prepared, tmp_path, pipeline):
    frames, source = tmp_path / "frames", prepared.folder / "data/01_raw/deblur/builtin"
    made = []
    for seed in range(2):
        lay_out(frames, source, seed)
        project = run_on(frames, make_project(f"project{seed}"), pipeline)
        made.append(without_timings(project.bytes_below()))
    assert made[0] == made[1]
    assert any(name.endswith(".png") for name in made[0])
    for name in (
        "06_models/deblur/frames/weights.safetensors",
        "07_model_output/deblur/frames/scores.json",
        "07_model_output/deblur/frames/sample_0/restored.png",
        "08_reporting/deblur/frames/metrics.json",
    ):
        assert (name in made[0]) == ("train" in pipeline), name


@pytest.mark.slow
def test_a_report_of_the_same_figures(copied):
    place = copied.folder / "data/08_reporting/deblur"
    before = copied.bytes_below("data/08_reporting/deblur")
    assert "builtin/report.html" in before
    shutil.rmtree(place)
    copied.run("env", "PYTHONHASHSEED=random", "kedro", "run", "--pipeline=evaluate_deblur")
    assert copied.bytes_below("data/08_reporting/deblur") == before
