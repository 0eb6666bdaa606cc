"""Write files and folders atomically."""

import errno
import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from rich.filesize import decimal

from idemnet.errors import BadInputError

FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
LONGEST_NAME = 255
"""Bytes, on nearly every file system."""


class NoRoomError(BadInputError):
    """The disk is too full."""


def write_atomic(path: Path, chunks: Iterable[bytes]) -> tuple[int, str]:
    """Write a file atomically; return its size and sha256."""
    # Short, as the name itself may be of any length; unique, as threads of other machines, with the
    # same numbers, may write beside it.
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    digest, size = hashlib.sha256(), 0
    try:
        with temporary.open("wb") as file:
            for chunk in chunks:
                size += len(chunk)
                file.write(chunk)
                digest.update(chunk)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise_if_disk_full(error, path, size)
        raise
    finally:
        temporary.unlink(missing_ok=True)
    return size, digest.hexdigest()


def raise_if_disk_full(error: OSError, path: Path, needed: int) -> None:
    """Raise an error with the space needed and free, if a full disk is why a write failed."""
    if error.errno in FULL:
        free = shutil.disk_usage(path.parent).free
        raise NoRoomError(
            f"{display_path(path)}: {error.strerror}: at least {decimal(needed)} is needed "
            f"and {decimal(free)} is free"
        ) from error


def write_all(file: BinaryIO, data: bytes) -> None:
    """Write all data to an unbuffered file, which may accept only part of it at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def path_inside(folder: Path, name: str) -> Path:
    """Return the path of a named file below a folder, and make its parents.

    Raises:
        BadInputError: If the name escapes the folder, by itself or through a link, or is not a
            valid file name.
    """
    path = folder / name
    try:
        inside = path.resolve().is_relative_to(folder.resolve()) and path != folder
        longest = max(len(os.fsencode(part)) for part in path.parts)
    except (OSError, ValueError):  # NUL, or a lone surrogate
        inside, longest = True, LONGEST_NAME + 1
    if escapes_folder(name) or not inside:
        raise BadInputError(f"{name!r}: leads out of {folder}")
    if longest > LONGEST_NAME:
        raise BadInputError(f"{name!r:.99}: not a valid file name")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def escapes_folder(name: str) -> bool:
    """Return whether a relative name leaves its folder, on any operating system.

    Does not resolve links.
    """
    plain = unquote(name).replace("\\", "/")
    return plain.startswith("/") or ".." in plain.split("/")


def make_durable(folder: Path) -> None:
    """Make the names in a folder durable (fsync); Windows opens no folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_free_disk(folder: Path, needed: int) -> None:
    """Raise an error if there is too little free disk."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise NoRoomError(
            f"{folder}: {needed / 1e9:.1f} GB are needed, only {free / 1e9:.1f} GB are free"
        )


def shorten(names: list[str], most: int = 10) -> str:
    """Join the first names, and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def display_path(path: Path) -> str:
    """Return a path relative to the working directory if it is inside."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def remove_leftovers(folder: Path, but: Path | None = None) -> None:
    """Remove leftovers of killed runs next to a folder: partial and replaced results."""
    of_this_folder = re.compile(rf"\.{re.escape(folder.name)}\.([0-9a-f]{{16}}|old|new)")
    for other in folder.parent.iterdir():
        if other != but and of_this_folder.fullmatch(other.name):
            shutil.rmtree(other)


def move_into_place(files: Path, folder: Path) -> None:
    """Publish by rename: a kill between the two renames leaves no result, never a partial one."""
    for place in (path for path in files.rglob("*") if path.is_dir()):
        make_durable(place)
    make_durable(files)
    old = folder.with_name(f".{folder.name}.old")
    if folder.exists():
        folder.rename(old)
    files.rename(folder)
    make_durable(folder.parent)
    shutil.rmtree(old, ignore_errors=True)
