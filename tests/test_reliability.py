"""docs/reliability.md names every promise with its test."""

import importlib.util

from .conftest import REPOSITORY

SCRIPT = REPOSITORY / "docs/make_reliability.py"
REPORT = """<testsuites><testsuite timestamp="2026-01-02T12:00:00+00:00">
<testcase classname="tests.faults.test_a" name="one" line="20"><properties>
<property name="figure" value="3 / 3"/></properties></testcase>
<testcase classname="tests.faults.test_a" name="two" line="30"/>
<testcase classname="tests.faults.test_a" name="zero" line="4"><properties>
<property name="figure" value="1 / 1"/></properties></testcase>
<testcase classname="tests.faults.test_b" name="one"><failure/></testcase>
<testcase classname="" name="tests.faults.test_c"><error/></testcase>
</testsuite></testsuites>"""


def load_script():
    spec = importlib.util.spec_from_file_location("make_reliability", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_every_promise():
    script = load_script()
    page = script.kept_rows(script.PAGE)
    tests = sorted((REPOSITORY / "tests/faults").glob("test_*.py"))
    assert sorted(page) == [test.name for test in tests]
    for test in tests:
        assert page[test.name].startswith(f"| {script.promise(test)} |")


def test_figures_and_failures_are_read_from_the_report_in_any_order(tmp_path):
    (tmp_path / "faults.xml").write_text(REPORT)
    found = load_script().read_report(tmp_path / "faults.xml")
    assert found == {
        "test_a.py": (3, 0, ["1 / 1", "3 / 3"], "2026-01-02"),
        "test_b.py": (0, 1, [], "2026-01-02"),
        "test_c.py": (0, 1, [], "2026-01-02"),
    }
