"""Whoever changes what a step computes must raise its version: known results of each tell."""

import inspect
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from idemnet.models import MODELS
from idemnet.steps import versions
from idemnet.tasks import task_names

from ..conftest import REPOSITORY
from .step_results import KNOWN, RESULTS, TRAININGS, current

KNOWN_RESULTS = json.loads(KNOWN.read_text(encoding="utf-8"))

CHANGES = {
    "RENDER": ("imaging/scenes.py", "view.at(moment), scene", "view.at(moment + 1), scene"),
    "FETCH": ("fetch/sources.py", '"test" if Path(name)', '"train" if Path(name)'),
    "SYNTHESIZE.deblur": ("imaging/blur.py", "sums + np.uint16(level // 2)", "sums"),
    "SYNTHESIZE.dehaze": ("imaging/haze.py", "float32(-beta)", "float32(-1.1 * beta)"),
    "SYNTHESIZE.derain": ("imaging/rain.py", "rain.veil * strength**2", "rain.veil * strength"),
    "CROP": ("imaging/crop.py", ".mean(axis=3)", ".max(axis=3)"),
    "TRAIN": ("training/loss.py", "total + idempotence_weight *", "total + 2 *"),
    "EVALUATE": ("imaging/metrics.py", "SIGMA, RADIUS = 1.5, 5", "SIGMA, RADIUS = 1.4, 5"),
    "REPORT": ("evaluation/metrics.py", "DECIMALS = 4", "DECIMALS = 3"),
    "RESTORE": ("inference/restore.py", "_run(model, restored,", "_run(model, pixels,"),
    "STUDY": ("pipelines/cells.py", "(trial.cell, trial.cell.after)", "(None, trial.cell.after)"),
    "STUDY_INPUTS": ("pipelines/study_inputs.py", "0.299, 0.587", "0.298, 0.588"),
    "READY_PAIRS": ("steps/pairs.py", '"gopro" else 0', '"gopro" else 1'),
    "TABLES": ("studies/parts/results.py", "stdev(self.values)", "2 * stdev(self.values)"),
}
"""One change of code for each version: file, what it says, and what is put there."""
NETWORKS = {
    "idempotent": ("self.encoder(image - 0.5,", "self.encoder(image - 0.1,"),
    "unet": ("image - 0.5", "image - 0.1"),
    "dmphn": ("output + 0.5", "output + 0.4"),
    "mtrnn": ("estimate = degraded + residual", "estimate = degraded"),
}
"""One change of every network."""

CLOSE = {"TRAIN": 1e-4, "EVALUATE": 1e-4}
"""Relative tolerances; SSE, AVX2 and AVX512 differ by 2e-6. Pictures get 2e-3, a quarter of a grey
level: OpenCV's warps and 8 bits round, and a pixel that another CPU rounds differently is a level.
"""


@pytest.mark.parametrize("name", RESULTS)
def test_a_step_gives_the_results_of_its_version(name, tmp_path):
    known = KNOWN_RESULTS[name]
    write = f"python -m tests.pipelines.step_results {name}"
    assert current(name) == known["version"], f"{name} was raised: {write}"
    other = other_results(name, tmp_path)
    assert not other, (
        f"other results than version {known['version']} had: raise {where(name)}, then {write}"
    )


def where(name: str) -> str:
    """Return the constant to raise, and its file."""
    _, _, task = name.partition(".")
    if task:
        return f"VERSION in src/idemnet/tasks/{task}.py"
    return f"{name} in src/idemnet/steps/versions.py"


def other_results(name: str, folder: Path) -> dict[str, tuple]:
    """Return what differs from a version's known results."""
    found, expected = RESULTS[name](folder), KNOWN_RESULTS[name]["results"]
    return {
        key: (expected.get(key), found.get(key))
        for key in expected | found
        if not same(expected.get(key), found.get(key), CLOSE.get(name, 2e-3))
    }


def same(one: float | str | None, other: float | str | None, close: float) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=close, abs_tol=1e-4)
    return one == other


def test_every_version_has_known_results():
    named = {name for name in vars(versions) if name.isupper()}
    named |= {f"SYNTHESIZE.{task}" for task in task_names()}
    assert set(RESULTS) == set(KNOWN_RESULTS) == set(CHANGES) == named


def test_changed_code_fails_and_names_the_version_to_raise(tmp_path):
    """Every step is changed in a copy of the source, and its known results are asked for."""
    shutil.copytree(REPOSITORY / "src/idemnet", tmp_path / "src/idemnet")
    for file, before, after in CHANGES.values():
        path = tmp_path / "src/idemnet" / file
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{file}: {before}"
        path.write_text(text.replace(before, after), encoding="utf-8")
    test = f"{__file__}::{test_a_step_gives_the_results_of_its_version.__name__}"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rN", "-n", "0", "-p", "no:cacheprovider", test],
        cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(tmp_path / "src")}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    named = re.findall(r"AssertionError: other results .*: raise (\w+ in [\w./]+),", run.stdout)
    assert sorted(named) == sorted(map(where, CHANGES)), run.stdout + run.stderr


def test_every_changed_network_gives_other_results(tmp_path, monkeypatch):
    """CHANGES has one change for each version, but TRAIN is also that of every network."""
    assert set(NETWORKS) == set(MODELS)
    for name, (before, after) in NETWORKS.items():
        network = MODELS[name]
        text = inspect.getsource(sys.modules[network.__module__])
        assert text.count(before) == 1, f"{name}: {before}"
        changed = {"__name__": network.__module__}
        exec(text.replace(before, after), changed)
        monkeypatch.setitem(MODELS, name, changed[network.__name__])
    others = other_results("TRAIN", tmp_path)
    for training in ("epoch", *TRAININGS):
        assert [key for key in others if key.startswith(training)], training
    for step in ("EVALUATE", "RESTORE"):
        assert [key for key in other_results(step, tmp_path) if key.startswith("unet")], step
