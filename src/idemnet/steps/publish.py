"""Carry out a recipe and publish its result atomically.

A folder is made under a hidden name next to its final place, where a killed run resumes, and
renamed when every file and the manifest are written.
"""

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from idemnet.errors import BadInputError
from idemnet.steps.mix import Mix, identify
from idemnet.steps.plan import Plan, Recipe
from idemnet.storage.atomic import (
    check_free_disk,
    display_path,
    move_into_place,
    remove_leftovers,
    shorten,
    write_atomic,
)
from idemnet.storage.executor import Write, run_jobs
from idemnet.storage.manifest import MANIFEST, FileEntry, find_damage, is_published, parse_manifest

logger = logging.getLogger(__name__)

Finish = Callable[[Path, Mapping[str, Any], Plan], Mapping[str, FileEntry]]
"""Makes the final files from the items, and returns their entries."""


def _entries_are_files(folder: Path, entries: Mapping[str, Any], plan: Plan) -> Mapping[str, Any]:
    return entries


def publish(
    folder: Path, recipe: Recipe, write: Write, finish: Finish = _entries_are_files
) -> None:
    """Carry out a recipe and publish the result, unless it is published and undamaged."""
    if _is_up_to_date(folder, recipe.fingerprint):
        remove_leftovers(folder)
        logger.info("%s: unchanged, nothing to do", display_path(folder))
        return
    started = time.monotonic()
    plan = recipe.plan()
    staging = _staging(folder, recipe.fingerprint)
    check_free_disk(staging, plan.bytes_needed)
    files = staging / "files"
    if plan.jobs:
        items = run_jobs(plan.jobs, files, staging / "journals", write, display_path(folder))
        root, entries = ".", finish(files, items, plan)
        _check_complete(staging, entries)
    else:
        root, entries = _portable_path(plan.uses.root, folder), plan.uses.files
    for stray in files.rglob(".*.tmp"):  # of a process that was killed while it wrote
        if stray.relative_to(files).as_posix() not in entries:
            stray.unlink()
    _write_manifest(files, recipe.fingerprint, plan.about, root, entries)
    move_into_place(files, folder)
    shutil.rmtree(staging)
    logger.info(
        "%s: %d files in %.1f s", display_path(folder), len(entries), time.monotonic() - started
    )


def publish_mix(
    folder: Path, mix: Mix[Recipe], publish_part: Callable[[Path, Recipe], None]
) -> None:
    """Publish each data set of a mix in a folder of its own, and a manifest that lists them.

    The manifest goes first and comes last: while there is one, every part is as it says.
    """
    made_from = identify(mix)
    current = parse_manifest(folder) if is_published(folder) else None
    if current is None or current.fingerprint != made_from:
        (folder / MANIFEST).unlink(missing_ok=True)
    for name, part in mix.parts.items():
        publish_part(folder / name, part.data)
    for other in folder.iterdir():  # of a source that was removed, or the only one there was
        if other.name not in (MANIFEST, *mix.parts):
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    if not is_published(folder):
        _write_manifest(folder, made_from, mix.about())


def _write_manifest(
    folder: Path,
    fingerprint: str,
    about: Mapping[str, Any],
    root: str = ".",
    files: Mapping[str, FileEntry] | None = None,
) -> None:
    manifest = {
        "fingerprint": fingerprint,
        "root": root,
        "files": dict(files or {}),
        "about": dict(about),
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    write_atomic(folder / MANIFEST, [text.encode()])


def _is_up_to_date(folder: Path, fingerprint: str) -> bool:
    """Return whether a folder holds this very result; warn if it does but is damaged."""
    if not is_published(folder):
        return False
    manifest, damaged = parse_manifest(folder), [MANIFEST]
    if manifest is not None:
        if manifest.fingerprint != fingerprint:
            return False
        damaged = find_damage(folder, manifest)
    if damaged:
        logger.warning(
            "%s: missing or changed: %s; making the folder again",
            display_path(folder),
            shorten(damaged),
        )
    return not damaged


def _check_complete(staging: Path, entries: Mapping[str, FileEntry]) -> None:
    """Raise an error if files were removed meanwhile; the next run starts over."""
    files = staging / "files"
    missing = [name for name, (size, _) in entries.items() if _size(files / name) != size]
    if missing:
        shutil.rmtree(staging, ignore_errors=True)
        raise BadInputError(
            f"{files}: {len(missing)} of {len(entries)} files were removed or changed while the "
            f"folder was made, run again: {shorten(missing)}"
        )


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _staging(folder: Path, fingerprint: str) -> Path:
    """Return the staging folder of this result, and remove those of others."""
    staging = folder.with_name(f".{folder.name}.{fingerprint[:16]}")
    (staging / "files").mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder, but=staging)
    return staging


def _portable_path(root: Path, folder: Path) -> str:
    """Return a path for a manifest: relative to published folders, so that data/ can be moved."""
    return os.path.relpath(root, folder) if (root / MANIFEST).is_file() else str(root)
