"""Write docs/reliability.md from the report of `make faults` (faults.xml)."""

import ast
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
REPORT = ROOT / "faults.xml"
START = """# Reliability: promises and test results

Written by `python docs/make_reliability.py` from faults.xml, the report of the last run of
tests/faults: `make faults` runs them in full, `pytest tests/faults --junitxml=faults.xml` without
the slow ones. A promise is the first sentence of its test file; the result is what its tests
counted or measured.

| promise | test | result | date |
|---|---|---|---|
"""


class Outcome(NamedTuple):
    """What became of the tests of one file."""

    passed: int
    failed: int
    figures: list[str]
    date: str


def _place(case: Xml.Element) -> tuple[int, str]:
    return int(case.get("line", 0)), case.get("name", "")


def read_report(report: Path) -> dict[str, Outcome]:
    """Return what became of each file's tests, by its name."""
    outcomes: dict[str, Outcome] = {}
    for suite in Xml.parse(report).getroot().iter("testsuite"):  # noqa: S314 - our own file
        date = datetime.fromisoformat(suite.get("timestamp", "")).astimezone(UTC).date()
        # Tests run in random order; the page lists their figures as their file does.
        for case in sorted(suite.iter("testcase"), key=_place):
            # A file that cannot be collected is itself the name of its error.
            place = case.get("classname") or case.get("name", "")
            name = place.rpartition(".")[2] + ".py"
            before = outcomes.get(name, Outcome(0, 0, [], str(date)))
            bad = case.find("failure") is not None or case.find("error") is not None
            skipped = case.find("skipped") is not None
            figures = [
                one.get("value", "") for one in case.iter("property") if one.get("name") == "figure"
            ]
            outcomes[name] = before._replace(
                passed=before.passed + (not bad and not skipped),
                failed=before.failed + bad,
                figures=before.figures + figures,
            )
    return outcomes


def promise(test: Path) -> str:
    """Return the first sentence of a test file."""
    text = ast.get_docstring(ast.parse(test.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def kept_rows(page: Path) -> dict[str, str]:
    """Return the rows of the page that is there, by test: for files that this report leaves out."""
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    return {match[1]: match[0] for match in re.finditer(r"^\| .* \| `(\S+)` \| .*$", text, re.M)}


def row(test: Path, outcome: Outcome | None, kept: str | None) -> str:
    """Write one line of the table."""
    if outcome is None:
        return kept or f"| {promise(test)} | `{test.name}` | not run yet | |"
    tests = f"{outcome.passed} test{'' if outcome.passed == 1 else 's'} passed"
    failed = [f"**{outcome.failed} failed**"] if outcome.failed else []
    figure = "; ".join([*failed, *(outcome.figures or [tests])])
    return f"| {promise(test)} | `{test.name}` | {figure} | {outcome.date} |"


def main(report: Path = REPORT) -> None:
    """Write the page; rows of files that were not run stay as they are."""
    outcomes, kept = read_report(report), kept_rows(PAGE)
    tests = sorted((ROOT / "tests" / "faults").glob("test_*.py"))
    rows = [row(test, outcomes.get(test.name), kept.get(test.name)) for test in tests]
    PAGE.write_text(START + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
