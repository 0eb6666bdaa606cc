"""Carry out a recipe and publish its result atomically.

A published folder got its name by a rename, after every file in it was written, and holds a
manifest. While it is made it lies beside its place under a hidden name; a killed run is continued
there.
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
from idemnet.steps.plan import Plan, Recipe
from idemnet.storage.atomic import (
    check_free_disk,
    move_into_place,
    remove_leftovers,
    shown,
    some,
    write_atomic,
)
from idemnet.storage.executor import Write, run_jobs
from idemnet.storage.manifest import MANIFEST, FileEntry, find_damage, is_published, parse_manifest

logger = logging.getLogger(__name__)

Finish = Callable[[Path, Mapping[str, Any], Plan], Mapping[str, FileEntry]]
"""Makes files out of what was written item by item, and says which files there are."""


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
    write_atomic(files / MANIFEST, [text.encode()])
    move_into_place(files, folder)
    shutil.rmtree(staging)
    logger.info("%s: %d files in %.1f s", shown(folder), len(entries), time.monotonic() - started)


def _is_there(folder: Path, fingerprint: str) -> bool:
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


def _point_at(root: Path, folder: Path) -> str:
    """Name a place: relative where we published it, so that the data root can be moved."""
    return os.path.relpath(root, folder) if (root / MANIFEST).is_file() else str(root)
