"""`make bench` measures every promise, whatever becomes of the others, and keeps what it found."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = """
from promise import Promise, report
report(Promise("{what}", {measured}, at_most=1.1))
"""
BESIDE = {"__main__", "memory", "prepared", "promise"}
BY_ITSELF = {"real_pictures", "studies", "three_seeds"}


@pytest.fixture
def bench(tmp_path):
    """The driver with three scripts of its own."""
    place = tmp_path / "benchmarks"
    place.mkdir()
    for name in ("__main__.py", "promise.py"):
        shutil.copy(ROOT / "benchmarks" / name, place)
    (place / "missed.py").write_text(SCRIPT.format(what="slow", measured=[1.0, 1.2, 1.3]))
    (place / "broken.py").write_text("raise SystemExit('out of order')")
    (place / "kept.py").write_text(SCRIPT.format(what="fast", measured=[1.0, 1.05, 9.0]))
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs/performance.md"
    page.write_text("before\n<!-- measured -->\nold\n<!-- /measured -->\nafter\n")

    def run(*names):
        command = [sys.executable, str(place), *names]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return place, page, run


def test_a_missed_promise_stops_no_other_and_is_an_error(bench):
    _, page, run = bench
    result = run("missed", "broken", "kept")
    assert result.returncode == 1
    assert "| slow | 1.200x | 1x to 1.300x | at most 1.100x | **no** |" in result.stdout
    assert "| broken.py | ended with an error | | | **no** |" in result.stdout
    assert (
        "| fast | 1.050x | 1x to 9x | at most 1.100x | yes |" in result.stdout
    )  # the median counts
    assert "old" in page.read_text()
    assert run("kept").returncode == 0


def test_the_table_replaces_the_old_one_and_nothing_else(bench):
    place, page, run = bench
    driver = (place / "__main__.py").read_text()
    start, end = driver.index("SCRIPTS = ("), driver.index(")\n", driver.index("SCRIPTS = ("))
    (place / "__main__.py").write_text(driver[:start] + "SCRIPTS = ('kept',)" + driver[end + 1 :])
    for _ in range(2):
        assert run().returncode == 0
        text = page.read_text()
        assert text.startswith("before\n<!-- measured -->\n")
        assert text.endswith("| yes |\n<!-- /measured -->\nafter\n")
        assert "torch" in text
        assert "old" not in text


def test_every_script_is_run_or_says_that_it_takes_too_long():
    tree = ast.parse((ROOT / "benchmarks/__main__.py").read_text())
    [scripts] = [
        ast.literal_eval(line.value)
        for line in tree.body
        if isinstance(line, ast.Assign) and line.targets[0].id == "SCRIPTS"
    ]
    there = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert set(scripts) | BESIDE | BY_ITSELF == there
