"""A machine that has nothing, for `.ci/run` and `make fresh`; apt-get and make are stand-ins."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import REPOSITORY

MAKEFILE = """
look:
\t@env
\t@command -v git
\t@! command -v chromium
\t@python3 -c 'import venv'
dirty:
\t@touch new
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """An empty folder for PATH, in which programs only record how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("env", "bash"):
        (folder / name).symlink_to(shutil.which(name))
    return folder


def record(folder: Path, name: str, more: str = "") -> None:
    path = folder / name
    path.write_text(f'#!/bin/sh\necho {name} "$@" >> {folder.parent}/calls\n{more}\n')
    path.chmod(0o755)


def run_ci(programs: Path, user: int) -> tuple[int, list[str]]:
    record(programs, "make")
    record(programs, "id", f"echo {user}")
    done = subprocess.run([REPOSITORY / ".ci/run"], env={"PATH": str(programs)}, check=False)
    calls = (programs.parent / "calls").read_text().splitlines()
    return done.returncode, [call for call in calls if not call.startswith("id ")]


def test_ci_installs_a_browser_before_the_tests(programs):
    record(programs, "apt-get")
    assert run_ci(programs, user=0) == (
        0,
        [
            "apt-get update",
            "apt-get install --yes --no-install-recommends chromium",
            "make test",
        ],
    )


@pytest.mark.parametrize(
    ("there", "user"), [(["apt-get", "chromium"], 0), (["apt-get"], 1000), ([], 0)]
)
def test_ci_runs_the_tests_with_what_is_there(programs, there, user):
    for name in there:
        record(programs, name)
    assert run_ci(programs, user) == (0, ["make test"])


def test_ci_fails_if_the_browser_cannot_be_installed(programs):
    record(programs, "apt-get", "exit 100")
    assert run_ci(programs, user=0) == (100, ["apt-get update"])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    (folder / "Makefile").write_text(MAKEFILE)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["add", "."], [*who, "commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", "-C", folder, *command], check=True)
    (folder / "Makefile").write_text("what is not committed is not cloned")
    return folder


def run_fresh(repository: Path, *targets: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [REPOSITORY / "tests/fresh.sh", *targets],
        cwd=repository, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_fresh_machine_knows_how_to_reach_packages_and_nothing_else(repository, monkeypatch):
    monkeypatch.setenv("PIP_RETRIES", "3")
    monkeypatch.setenv("SECRET", "x")
    done = run_fresh(repository, "look")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PIP_RETRIES=3\n" in done.stdout
    assert "SECRET" not in done.stdout
    assert re.search(r"\nmake look: \d+ s\n$", done.stdout)


def test_what_a_command_leaves_behind_in_a_fresh_clone_is_an_error(repository):
    done = run_fresh(repository, "dirty", "look")
    assert done.returncode == 1
    assert "make dirty: left the clone changed (git status):\n?? new\n" in done.stdout
    assert "\nmake look: " in done.stdout


def test_a_command_that_fails_in_a_fresh_clone_is_an_error(repository):
    done = run_fresh(repository, "missing")
    assert done.returncode == 1
    assert "make missing: failed\n" in done.stdout
