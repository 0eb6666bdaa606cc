"""Folders that are whole or absent.

A published folder got its name by a rename, after every file in it was written, and holds a
manifest: the fingerprint of what it was made from, and each file's bytes and sha256. While it is
made it lies beside its place under a hidden name; a killed run is continued there.
"""

import json
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idemnet.datasets.checksum import hash_file
from idemnet.datasets.files import check_free_disk, make_durable, shown, some, write_whole
from idemnet.datasets.workers import Write, run_jobs
from idemnet.errors import BadInputError
from idemnet.recipes import Plan, Recipe

logger = logging.getLogger(__name__)

MANIFEST = "manifest.json"

FileEntry = tuple[int, str | None]
"""Bytes, and sha256 where the file was written by us."""

Finish = Callable[[Path, Mapping[str, Any], Plan], Mapping[str, FileEntry]]
"""Makes files out of what was written item by item, and says which files there are."""


@dataclass(frozen=True)
class FilesInPlace:
    """Files that a published folder points at instead of holding them."""

    root: Path
    files: Mapping[str, FileEntry]


@dataclass(frozen=True)
class Manifest(FilesInPlace):
    """What a published folder says of itself, and of the files in it or in the place it names."""

    fingerprint: str
    about: Mapping[str, Any]


def published_fingerprint(folder: Path) -> str | None:
    """Tell what a folder was made from, or None where nothing whole is there."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return None
    return str(json.loads(manifest.read_bytes())["fingerprint"])


def read_manifest(folder: Path) -> Manifest:
    """Read a published folder's manifest and see that every file it lists is there, whole."""
    if not (folder / MANIFEST).is_file():
        raise BadInputError(f"{folder}: nothing is published here yet, run the step that makes it")
    stored = json.loads((folder / MANIFEST).read_bytes())
    root = (folder / stored["root"]).resolve()
    files = {name: (size, sha256) for name, (size, sha256) in stored["files"].items()}
    _check_files(root, files)
    return Manifest(root, files, stored["fingerprint"], stored["about"])


def _check_files(root: Path, files: Mapping[str, FileEntry]) -> None:
    broken = [name for name, (size, _) in files.items() if _size(root / name) != size]
    if broken:
        raise BadInputError(
            f"{root}: {len(broken)} of {len(files)} files are missing or of another size than "
            f"recorded: {some(broken)}"
        )


def check_hashes(manifest: Manifest) -> None:
    """See that every file is, to the last bit, the one that was recorded; takes a read of all."""
    hashes = {name: sha256 for name, (_, sha256) in manifest.files.items() if sha256 is not None}
    changed = [name for name, sha256 in hashes.items() if hash_file(manifest.root / name) != sha256]
    if changed:
        raise BadInputError(
            f"{manifest.root}: {len(changed)} of {len(hashes)} files are not those that were "
            f"recorded, remove the folder to have it made again: {some(changed)}"
        )


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _entries_are_files(folder: Path, entries: Mapping[str, Any], plan: Plan) -> Mapping[str, Any]:
    return entries


def publish(
    folder: Path, recipe: Recipe, write: Write, finish: Finish = _entries_are_files
) -> None:
    """Make what the recipe describes and publish it, unless it is already there."""
    if published_fingerprint(folder) == recipe.fingerprint:
        remove_leftovers(folder)
        logger.info("%s: unchanged, nothing to do", shown(folder))
        return
    started = time.monotonic()
    plan = recipe.plan()
    staging = _staging(folder, recipe.fingerprint)
    check_free_disk(staging, plan.bytes_needed)
    files = staging / "files"
    if plan.jobs:
        items = run_jobs(plan.jobs, files, staging / "journals", write, shown(folder))
        root, entries = ".", finish(files, items, plan)
        _check_made(staging, entries)
    else:
        root, entries = _point_at(plan.uses.root, folder), plan.uses.files
    manifest = {
        "fingerprint": recipe.fingerprint,
        "root": root,
        "files": dict(entries),
        "about": dict(plan.about),
    }
    for stray in files.rglob(".*.tmp"):  # of a process that was killed while it wrote
        if stray.relative_to(files).as_posix() not in entries:
            stray.unlink()
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    write_whole(files / MANIFEST, [text.encode()])
    move_into_place(files, folder)
    shutil.rmtree(staging)
    logger.info("%s: %d files in %.1f s", shown(folder), len(entries), time.monotonic() - started)


def _check_made(staging: Path, entries: Mapping[str, FileEntry]) -> None:
    """Refuse to publish what somebody has removed meanwhile; the next run begins anew."""
    try:
        _check_files(staging / "files", entries)
    except BadInputError:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def _staging(folder: Path, fingerprint: str) -> Path:
    """Find or make the place where this very result is made; what was for others is removed."""
    staging = folder.with_name(f".{folder.name}.{fingerprint[:16]}")
    (staging / "files").mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder, but=staging)
    return staging


def remove_leftovers(folder: Path, but: Path | None = None) -> None:
    """Remove what killed runs have left beside a folder: results half made, and those replaced."""
    of_this_folder = re.compile(rf"\.{re.escape(folder.name)}\.([0-9a-f]{{16}}|old|new)")
    for other in folder.parent.iterdir():
        if other != but and of_this_folder.fullmatch(other.name):
            shutil.rmtree(other)


def _point_at(root: Path, folder: Path) -> str:
    """Name a place: relative where we published it, so that the data root can be moved."""
    return os.path.relpath(root, folder) if (root / MANIFEST).is_file() else str(root)


def move_into_place(files: Path, folder: Path) -> None:
    """Publish by rename. Killed between the two renames there is no result, never half of one."""
    for place in (path for path in files.rglob("*") if path.is_dir()):
        make_durable(place)
    make_durable(files)
    old = folder.with_name(f".{folder.name}.old")
    if folder.exists():
        folder.rename(old)
    files.rename(folder)
    make_durable(folder.parent)
    shutil.rmtree(old, ignore_errors=True)
