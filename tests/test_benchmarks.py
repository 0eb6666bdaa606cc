"""`make bench` measures every promise, whatever becomes of the others, and keeps what it found."""

import ast
import re
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
HELPERS = {"__main__", "memory", "prepared", "promise", "worker"}
MANUAL = {"bfloat16", "real_pictures", "shifted_pairs", "studies", "three_seeds"}


@pytest.fixture
def bench(tmp_path):
    """The driver with three scripts of its own."""
    place = tmp_path / "benchmarks"
    place.mkdir()
    shutil.copy(ROOT / "benchmarks/promise.py", place)
    driver = (ROOT / "benchmarks/__main__.py").read_text()
    begin, end = driver.index("SCRIPTS = ("), driver.index(")\n", driver.index("SCRIPTS = ("))
    scripts = "SCRIPTS = ('missed', 'broken', 'kept')"
    (place / "__main__.py").write_text(driver[:begin] + scripts + driver[end + 1 :])
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
    result = run()
    assert result.returncode == 1
    for row in (
        "| slow | 1.200x | 1x to 1.300x | at most 1.100x | **no** | missed |",
        "| ended with an error | | | | **no** | broken |",
        "| fast | 1.050x | 1x to 9x | at most 1.100x | yes | kept |",  # the median counts
    ):
        assert row in result.stdout
        assert row in page.read_text()
    assert run("kept").returncode == 0


def test_the_table_replaces_the_old_one_and_nothing_else(bench):
    _, page, run = bench
    for _ in range(2):
        run()
        text = page.read_text()
        assert text.startswith("before\n<!-- measured -->\n")
        assert text.endswith("| yes | kept |\n<!-- /measured -->\nafter\n")
        assert "torch" in text
        assert "old" not in text


def test_what_is_measured_again_renews_its_rows_alone(bench):
    place, page, run = bench
    run()
    before = page.read_text()
    (place / "missed.py").write_text(SCRIPT.format(what="slow", measured=[1.0]))
    for _ in range(2):
        assert run("missed").returncode == 0
        text = page.read_text()
        renewed = "| slow | 1x |  | at most 1.100x | yes | missed |"
        assert text.splitlines()[6:] == [renewed, *before.splitlines()[7:]]
        assert text.count("Measured again") == 1
        assert text.splitlines()[2].startswith(before.splitlines()[2])
    run("kept")
    assert page.read_text().splitlines()[2].endswith(": missed, kept.")  # not the last one alone


def scripts() -> tuple[str, ...]:
    tree = ast.parse((ROOT / "benchmarks/__main__.py").read_text())
    [found] = [
        ast.literal_eval(line.value)
        for line in tree.body
        if isinstance(line, ast.Assign) and line.targets[0].id == "SCRIPTS"
    ]
    return found


def test_every_script_is_run_or_listed_as_manual():
    there = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert set(scripts()) | HELPERS | MANUAL == there


def test_the_page_has_rows_of_every_script_and_of_no_other_or_says_which_are_missing():
    page = (ROOT / "docs/performance.md").read_text()
    table = page.partition("<!-- measured -->")[2].partition("<!-- /measured -->")[0]
    rows = set(re.findall(r"\| (\w+) \|$", table, re.MULTILINE)) - {"script"}
    missing = re.findall(r"^Not measured yet: (.*)\.$", table, re.MULTILINE)
    named = set(missing[0].split(", ")) if missing else set()
    assert rows | named == set(scripts())
    assert not rows & named


def test_scripts_that_have_no_rows_yet_are_named_until_they_have(bench):
    _, page, run = bench
    for name, missing in (("kept", "missed, broken"), ("broken", "missed")):
        run(name)
        assert f"|\n\nNot measured yet: {missing}.\n<!-- /measured -->" in page.read_text()
    run("missed")
    assert "Not measured" not in page.read_text()
