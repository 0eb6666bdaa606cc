"""No figure of the README's results is typed by hand."""

import importlib.util

from .conftest import REPOSITORY

spec = importlib.util.spec_from_file_location("make_results", REPOSITORY / "docs/make_results.py")
make_results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_results)


def test_the_readme_s_results_are_those_that_were_kept():
    text = (REPOSITORY / "README.md").read_text()
    begin, end = text.index(make_results.BEGIN), text.index(make_results.END)
    assert text[begin : end + len(make_results.END)] == make_results.results_in(
        REPOSITORY / "docs/results"
    )


def test_kept_results_say_which_command_and_commit_made_them():
    pages = list((REPOSITORY / "docs/results").glob("*/table.md"))
    assert pages
    for page in pages:
        last = page.read_text().strip().splitlines()[-1]
        assert last.startswith(f"Made by `kedro run --pipeline=study_{page.parent.name}")
        assert "at commit" in last
