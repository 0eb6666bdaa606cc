"""Whoever changes what a step computes must raise its version: known results of each tell."""

import json
import math
import os
import re
import shutil
import subprocess
import sys

import pytest

from idemnet.steps import versions

from ..conftest import REPOSITORY
from .step_results import KNOWN, RESULTS, current

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


@pytest.mark.parametrize("name", RESULTS)
def test_a_step_gives_the_results_of_its_version(name, tmp_path):
    known = KNOWN_RESULTS[name]
    write = f"python -m tests.pipelines.step_results {name}"
    assert current(name) == known["version"], f"{name} was raised: {write}"
    found, expected = RESULTS[name](tmp_path), known["results"]
    close = 1e-4 if name == "EVALUATE" else 2e-3  # 0.003 dB; a quarter of a grey level
    other = {
        key: (expected.get(key), found.get(key))
        for key in expected | found
        if not same(expected.get(key), found.get(key), close)
    }
    assert not other, (
        f"other results than version {known['version']} had: "
        f"raise {name} in src/idemnet/steps/versions.py, then {write}"
    )


def same(one: float | str | None, other: float | str | None, close: float) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=close, abs_tol=1e-4)
    return one == other


def test_every_version_has_known_results():
    named = {name for name in vars(versions) if name.isupper()} - {"SYNTHESIZE"}
    named |= {f"SYNTHESIZE.{task}" for task in versions.SYNTHESIZE}
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
    named = re.findall(r"AssertionError: other results .*: raise ([\w.]+) in src", run.stdout)
    assert sorted(named) == sorted(CHANGES), run.stdout + run.stderr
