"""Manifest of a published folder: its fingerprint, and the size and sha256 of each file."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idemnet.errors import BadInputError
from idemnet.storage.atomic import display_path, shorten
from idemnet.storage.checksum import hash_file

MANIFEST = "manifest.json"

FileEntry = tuple[int, str | None]
"""Size in bytes, and sha256 if the file was written by us."""


@dataclass(frozen=True)
class FilesInPlace:
    """Files that a published folder refers to instead of containing them."""

    root: Path
    files: Mapping[str, FileEntry]


@dataclass(frozen=True)
class Manifest(FilesInPlace):
    """Manifest of a published folder, with its files and their root."""

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
        raise BadInputError(f"{display_path(folder)}: not found{remedy.replace(' again', '')}")
    manifest = parse_manifest(folder)
    if manifest is None:
        raise BadInputError(f"{display_path(folder / MANIFEST)}: is damaged{remedy}")
    damaged = find_damage(folder, manifest)
    if damaged:
        raise BadInputError(
            f"{display_path(manifest.root)}: {len(damaged)} of {len(manifest.files)} files are "
            f"missing or changed: {shorten(damaged)}{remedy}"
        )
    return manifest


def parse_manifest(folder: Path) -> Manifest | None:
    """Parse a manifest; return None if it is invalid."""
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

    A manifest is written last, so only newer files are hashed. If they are unchanged (copied, or
    checked out), the manifest's time is set after theirs, so that they are hashed only once.
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
        with suppress(OSError):  # owned by another user, or read-only: hashed again next time
            os.utime(place, ns=(newest + 1, newest + 1))
    return damaged
