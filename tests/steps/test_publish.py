"""Published folders are complete or missing, made once, and resumed after a kill."""

import json
import os
import signal
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from idemnet.errors import BadInputError
from idemnet.media.image_files import write_image
from idemnet.steps.plan import Plan, Recipe
from idemnet.steps.publish import publish
from idemnet.storage.executor import Job
from idemnet.storage.manifest import FilesInPlace, read_manifest


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
        read_manifest(tmp_path / "set", "kedro run --tags=x")
    assert str(error.value) == (
        f"{tmp_path / 'set'}: 2 of 12 files are missing or changed: {names[0]}, {names[1]}; "
        "make it again with: kedro run --tags=x"
    )


def remove(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("harm", [remove, cut, flip])
@pytest.mark.parametrize("name", ["train/ä #1/001 x.png", "manifest.json"])
def test_a_damaged_folder_is_made_again_with_a_warning(tmp_path, caplog, harm, name):
    publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    before = tree(tmp_path / "set")
    harm(tmp_path / "set" / name)
    publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    assert tree(tmp_path / "set") == before
    assert (tmp_path / "log").read_text().count("001 x.png") == 2
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    if (name, harm) == ("manifest.json", remove):  # as if it had never been made
        assert warnings == []
    else:
        assert warnings == [
            f"{tmp_path / 'set'}: missing or changed: {name}; making the folder again"
        ]


def test_a_damaged_manifest_is_named(tmp_path):
    publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    (tmp_path / "set/manifest.json").write_text('{"fingerprint": 1')
    with pytest.raises(BadInputError, match=r"manifest\.json: is damaged; make it again with: x"):
        read_manifest(tmp_path / "set", "x")


def test_a_copy_is_hashed_once_and_then_only_looked_at(tmp_path):
    """Copies are newer than their manifest; hashing all of them in every run would take minutes."""
    publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    names = list(read_manifest(tmp_path / "set").files)
    manifest = tmp_path / "set/manifest.json"
    later = manifest.stat().st_mtime_ns + 10**9
    for name in names:
        os.utime(tmp_path / "set" / name, ns=(later, later))
    read_manifest(tmp_path / "set")
    assert manifest.stat().st_mtime_ns > later
    flip(tmp_path / "set" / names[0])
    os.utime(tmp_path / "set" / names[0], ns=(later, later))  # hides that it was changed
    read_manifest(tmp_path / "set")  # would be noticed if it were hashed again


def test_files_of_others_are_never_written(tmp_path):
    """A folder that points at a person's files is made again by pointing at them again."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "a.png").write_bytes(b"picture")
    before = (theirs / "a.png").stat()

    def point(size: int) -> Recipe:
        return Recipe("e" * 64, lambda: Plan(uses=FilesInPlace(theirs, {"a.png": (size, None)})))

    publish(tmp_path / "set", point(5), write_image)  # was shorter then
    publish(tmp_path / "set", point(7), write_image)
    assert read_manifest(tmp_path / "set").files == {"a.png": (7, None)}
    after = (theirs / "a.png").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert [path.name for path in theirs.iterdir()] == ["a.png"]


def test_a_folder_that_points_elsewhere_can_be_moved_with_what_it_points_at(tmp_path):
    data = tmp_path / "data"
    publish(data / "raw" / "set", recipe(tmp_path / "log"), write_image)
    files = read_manifest(data / "raw" / "set")
    publish(data / "primary" / "set", Recipe("e" * 64, lambda: Plan(uses=files)), write_image)
    data.rename(tmp_path / "moved")
    moved = read_manifest(tmp_path / "moved" / "primary" / "set")
    assert moved.files == files.files
    assert json.loads((moved.root / "manifest.json").read_bytes())["root"] == "."
