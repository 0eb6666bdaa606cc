"""Files that are whole or absent."""

import hashlib
import os
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path

from idemnet.errors import BadInputError

LONGEST_NAME = 255
"""Bytes; of nearly every file system."""


def write_whole(path: Path, chunks: Iterable[bytes]) -> tuple[int, str]:
    """Write a file so that it is there whole or not at all; return its bytes and sha256."""
    # Short, as the name itself may be of any length; of one thread, as another may write beside it.
    temporary = path.with_name(f".{os.getpid()}.{threading.get_native_id()}.tmp")
    digest, size = hashlib.sha256(), 0
    try:
        with temporary.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return size, digest.hexdigest()


def place_inside(folder: Path, name: str) -> Path:
    """Give the path of a named file below a folder, and make its parents.

    Raises:
        BadInputError: If the name leads out of the folder, by itself or through a link, or is none
            that a file can have.
    """
    path = folder / name
    try:
        inside = path.resolve().is_relative_to(folder.resolve()) and path != folder
        inside = inside and ".." not in Path(name).parts
        longest = max(len(os.fsencode(part)) for part in path.parts)
    except (OSError, ValueError):  # NUL, or half of a character
        inside, longest = True, LONGEST_NAME + 1
    if not inside:
        raise BadInputError(f"{name!r}: leads out of {folder}")
    if longest > LONGEST_NAME:
        raise BadInputError(f"{name!r:.99}: no file can have this name")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def make_durable(folder: Path) -> None:
    """Have the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_free_disk(folder: Path, needed: int) -> None:
    """Refuse to start what cannot end."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise BadInputError(
            f"{folder}: {needed / 1e9:.1f} GB are needed, only {free / 1e9:.1f} GB are free"
        )


def some(names: list[str], most: int = 10) -> str:
    """List the first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shown(path: Path) -> str:
    """Name a path as short as it can be typed here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
