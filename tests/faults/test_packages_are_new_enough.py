"""No package that is installed, pinned or allowed is older than SECURITY.md requires."""

import re
import tomllib
from importlib import metadata
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from ..conftest import REPOSITORY

ROW = re.compile(r"^\| ([\w-]+) \| ([\d.]+) \| .*(?:CVE-\d{4}-\d+).* \|$", re.MULTILINE)
REQUIRED = {
    name: Version(version)
    for name, version in ROW.findall((REPOSITORY / "SECURITY.md").read_text())
}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> dict[str, Version]:
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    found = [re.match(r"([\w.-]+)==([^;\s]+)", line) for line in lines]
    return {normal(match[1]): Version(match[2]) for match in found if match}


def allowed() -> dict[str, Version]:
    """The lowest version that pyproject.toml lets pip choose."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    texts = chain(project["dependencies"], *project["optional-dependencies"].values())
    return {
        normal(one.name): Version(clause.version)
        for one in map(Requirement, texts)
        for clause in one.specifier
        if clause.operator in (">=", "~=", "==")
    }


def test_the_table_is_read():
    assert {"torch", "pillow", "requests", "gradio", "mlflow"} <= REQUIRED.keys()


@pytest.mark.parametrize("name", REQUIRED)
def test_it_is_new_enough(name, record_property):
    installed = Version(metadata.version(name))
    assert installed >= REQUIRED[name]
    assert pinned()[name] >= REQUIRED[name]
    assert allowed().get(name, REQUIRED[name]) >= REQUIRED[name]
    record_property("figure", f"{name} {installed}, at least {REQUIRED[name]}")
