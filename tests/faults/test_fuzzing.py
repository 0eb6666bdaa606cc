"""A mutated picture, archive, card or checkpoint is read correctly, or rejected with a clear error.

In a process of its own: no file may hold it for a second, take more memory than SECURITY.md says,
end it, or raise anything but the project's own error; and none is taken for whole where a sha256
vouches for another.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import REPOSITORY, environment

MEGABYTES = 1000
"""SECURITY.md: of the whole process, in which torch alone takes 250."""
FEW, MANY = 100, {"pictures": 14000, "archives": 3000, "weights": 2000, "checkpoints": 2000}


def read_changed_files(kind: str, count: int, folder: Path) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "tests.faults.fuzzing.victim", kind, "0", str(count)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=900,
        env=environment(PYTHONPATH=f"{REPOSITORY}:{REPOSITORY / 'src'}"),
    )  # fmt: skip
    last = (folder / "number").read_text()
    assert result.returncode == 0, f"{kind} {last} ended the process: {result.stderr[-2000:]}"
    found = json.loads((folder / "found.json").read_text())
    assert found["findings"] == []
    seconds, slowest = found["slowest"]
    assert seconds < 1, f"{kind} {slowest}"
    assert found["megabytes"] < MEGABYTES
    return (
        f"{count:,} mutations of {kind}, slowest {seconds:.2f} s, "
        f"process at most {found['megabytes']} MB"
    )


@pytest.mark.parametrize("kind", MANY)
def test_some_changed_files(kind, tmp_path, record_property):
    record_property("figure", read_changed_files(kind, FEW, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("kind", MANY)
def test_many_changed_files(kind, tmp_path, record_property):
    record_property("figure", read_changed_files(kind, MANY[kind], tmp_path))
