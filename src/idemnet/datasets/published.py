"""Folders that are published atomically.

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
from contextlib import suppress
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


def is_published(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path, made_by: str = "") -> Manifest:
    """Read a published folder's manifest and check every file it lists.

    Args:
        folder: The published folder.
        made_by: The command that makes it, for errors.

    Raises:
        BadInputError: If nothing is published, or files are missing or changed.
    """
    remedy = f"; make it again with: {made_by}" if made_by else ""
    if not is_published(folder):
        raise BadInputError(f"{shown(folder)}: not found{remedy.replace(' again', '')}")
    manifest = _parse_manifest(folder)
    if manifest is None:
        raise BadInputError(f"{shown(folder / MANIFEST)}: is damaged{remedy}")
    damaged = find_damage(folder, manifest)
    if damaged:
        raise BadInputError(
            f"{shown(manifest.root)}: {len(damaged)} of {len(manifest.files)} files are missing or "
            f"changed: {some(damaged)}{remedy}"
        )
    return manifest


def _parse_manifest(folder: Path) -> Manifest | None:
    """Parse a manifest; None if it is not one."""
    try:
        stored = json.loads((folder / MANIFEST).read_bytes())
        return Manifest(
            (folder / stored["root"]).resolve(),
            {name: (size, sha256) for name, (size, sha256) in stored["files"].items()},
            stored["fingerprint"],
            stored["about"],
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def find_damage(folder: Path, manifest: Manifest) -> list[str]:
    """Return the files that are missing, of another size, or changed since they were recorded.

    A manifest is written last, so only files that are not older than it are hashed. If these are
    unchanged (copied, or checked out), the manifest's time is set after theirs, so that they are
    hashed once and not by every run.
    """
    place = folder / MANIFEST
    recorded, newest, damaged = place.stat().st_mtime_ns, 0, []
    for name, (size, sha256) in manifest.files.items():
        try:
            found = (manifest.root / name).stat()
        except OSError:
            damaged.append(name)
            continue
        if found.st_size != size:
            damaged.append(name)
        elif sha256 is not None and found.st_mtime_ns >= recorded:
            newest = max(newest, found.st_mtime_ns)
            if hash_file(manifest.root / name) != sha256:
                damaged.append(name)
    if newest and not damaged:
        with suppress(OSError):  # of somebody else, or read-only: hashed again next time
            os.utime(place, ns=(newest + 1, newest + 1))
    return damaged


def _entries_are_files(folder: Path, entries: Mapping[str, Any], plan: Plan) -> Mapping[str, Any]:
    return entries


def publish(
    folder: Path, recipe: Recipe, write: Write, finish: Finish = _entries_are_files
) -> None:
    """Make what the recipe describes and publish it, unless it is there and undamaged."""
    if _is_there(folder, recipe.fingerprint):
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


def _is_there(folder: Path, fingerprint: str) -> bool:
    """Tell if a folder holds what the fingerprint stands for; warn if it does but is damaged."""
    if not is_published(folder):
        return False
    manifest, damaged = _parse_manifest(folder), [MANIFEST]
    if manifest is not None:
        if manifest.fingerprint != fingerprint:
            return False
        damaged = find_damage(folder, manifest)
    if damaged:
        logger.warning(
            "%s: missing or changed: %s; making the folder again", shown(folder), some(damaged)
        )
    return not damaged


def _check_made(staging: Path, entries: Mapping[str, FileEntry]) -> None:
    """Refuse to publish what somebody has removed meanwhile; the next run begins anew."""
    files = staging / "files"
    missing = [name for name, (size, _) in entries.items() if _size(files / name) != size]
    if missing:
        shutil.rmtree(staging, ignore_errors=True)
        raise BadInputError(
            f"{files}: {len(missing)} of {len(entries)} files were removed or changed while the "
            f"folder was made, run again: {some(missing)}"
        )


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


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
