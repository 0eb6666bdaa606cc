"""Published folders are whole or absent, made once, and continued after a kill."""

import json
import os
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from idemnet.datasets.images import write_image
from idemnet.datasets.published import publish, read_manifest
from idemnet.errors import BadInputError
from idemnet.recipes import Job, Plan, Recipe


def make_images(log: Path, names, poison: str | None, wanted):
    """Yield an image per wanted name, noting it; the poisoned one kills its process."""
    for name in names:
        if name not in wanted:
            continue
        if name == poison:
            os.kill(os.getpid(), signal.SIGKILL)
        with log.open("a") as lines:
            lines.write(name + "\n")
        number = int(Path(name).stem.split()[0])
        yield name, np.full((4, 4, 3), number, np.uint8)


def recipe(
    log: Path, fingerprint: str = "f" * 64, poison: str | None = None, count: int = 12
) -> Recipe:
    names = [f"train/ä #{number % 3}/{number:03d} x.png" for number in range(count)]
    groups = [names[0::2], names[1::2]]
    jobs = [Job(tuple(group), partial(make_images, log, group, poison)) for group in groups]
    return Recipe(fingerprint, lambda: Plan(jobs, {"of": "test"}))


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_what_is_published_lists_every_file_with_its_hash(tmp_path):
    publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    manifest = read_manifest(tmp_path / "set")
    assert len(manifest.files) == 12
    assert set(tree(tmp_path / "set")) == {*manifest.files, "manifest.json"}
    assert {path.name for path in tmp_path.iterdir()} == {"set", "log"}


def test_the_same_fingerprint_costs_nothing_and_another_replaces(tmp_path, caplog):
    publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    before = (tmp_path / "log").read_text()
    with caplog.at_level("INFO"):
        publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    assert "unchanged, nothing to do" in caplog.text
    assert (tmp_path / "log").read_text() == before
    publish(tmp_path / "set", recipe(tmp_path / "log", "e" * 64, count=4), write_image)
    assert len(read_manifest(tmp_path / "set").files) == 4


def test_work_left_over_from_other_parameters_is_removed(tmp_path):
    stale = tmp_path / f".set.{'0' * 16}"
    neighbour = tmp_path / f".set.two.{'0' * 16}"
    stale.mkdir()
    neighbour.mkdir()
    publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    assert not stale.exists() and neighbour.exists()


def test_missing_or_short_files_are_named_before_they_are_used(tmp_path):
    publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    names = list(read_manifest(tmp_path / "set").files)
    (tmp_path / "set" / names[0]).unlink()
    with (tmp_path / "set" / names[1]).open("ab") as file:
        file.write(b"x")
    with pytest.raises(BadInputError) as error:
        read_manifest(tmp_path / "set")
    assert "2 of 12 files" in str(error.value) and names[0] in str(error.value)


def test_a_folder_that_points_elsewhere_can_be_moved_with_what_it_points_at(tmp_path):
    data = tmp_path / "data"
    publish(data / "raw" / "set", recipe(tmp_path / "log"), write_image)
    files = read_manifest(data / "raw" / "set")
    publish(data / "primary" / "set", Recipe("e" * 64, lambda: Plan(uses=files)), write_image)
    data.rename(tmp_path / "moved")
    moved = read_manifest(tmp_path / "moved" / "primary" / "set")
    assert moved.files == files.files
    assert json.loads((moved.root / "manifest.json").read_bytes())["root"] == "."
