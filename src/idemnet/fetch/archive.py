"""Unpack untrusted zip files; the whole listing is checked before anything is unpacked."""

import os
import re
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from stat import S_IFDIR, S_IFMT, S_IFREG
from typing import BinaryIO

from idemnet.errors import BadInputError

MEMBERS_LIMIT, DIRECTORY_LIMIT = 500_000, 48 << 20
"""Limits of members and of directory bytes, because zipfile holds the directory in memory."""
RATIO_LIMIT, RATIO_FREE_BYTES = 200, 1_000_000
"""A member larger than this may not unpack to more than 200 times its packed size."""
NAME_BYTES, PART_BYTES = 1024, 255
CHUNK = 1 << 18

_END, _END64 = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q")
_LOCATOR_BYTES, _LOCAL_BYTES = 20, 30  # of the zip64 locator, and of a local file header
_ENCRYPTED = 0x1 | 0x20 | 0x40 | 0x2000  # password, patch data, strong encryption, masked header


def check_archive(path: Path, *, limit_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """Return the files in an archive by name: relative, in NFC, and safe to use as paths.

    Folders and macOS metadata are left out. Nested archives are plain files and never unpacked.

    Raises:
        BadInputError: If any name, type, size or offset is wrong; then nothing in it is trusted.
    """
    with _naming(f"archive {path}"), path.open("rb") as file:
        count, directory = _find_directory(file)
        infos = zipfile.ZipFile(file).infolist()
        if len(infos) != count:
            raise BadInputError(
                f"its directory has {len(infos)} members, its end record says {count}"
            )
        names, total = {}, 0
        for info in infos:
            with _naming(f"member {info.orig_filename!r:.99}"):
                name = _check_member(info)
                total += info.file_size
                if total > limit_bytes:
                    raise BadInputError(f"exceeds the limit of {limit_bytes} unpacked bytes")
            names[info] = name
        _check_overlaps(infos, directory)
        _check_collisions(list(names.values()))
        found = {name: info for info, name in names.items() if not _left_out(name)}
        if not found:
            raise BadInputError("contains no files")
        return dict(sorted(found.items()))


def read_members(
    path: Path, members: Mapping[str, zipfile.ZipInfo]
) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Unpack members one at a time, in chunks.

    Raises:
        BadInputError: If a member differs from the listing; chunks of it that were already
            yielded must then be discarded.
    """
    with _naming(f"archive {path}"), zipfile.ZipFile(path) as archive:
        for name, info in members.items():
            yield name, _read_member(archive, info)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    size, member = 0, f"member {info.orig_filename!r:.99}"
    with _naming(f"archive {archive.filename}"), _naming(member), archive.open(info) as content:
        while chunk := content.read(CHUNK):
            size += len(chunk)
            yield chunk
        if size != info.file_size:
            raise BadInputError(f"it has {size} bytes, but the listing says {info.file_size}")


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Prefix errors with the name of an archive or member."""
    try:
        yield
    except BadInputError as error:
        raise BadInputError(f"{what}: {error}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        problem = str(error) or "bytes are missing"
        raise BadInputError(f"{what}: it is damaged: {problem:.200}") from error
    except OSError as error:
        raise BadInputError(f"{what} cannot be read: {error.strerror or error}") from error


def _find_directory(file: BinaryIO) -> tuple[int, int]:
    """Return the number of members in the end record, and where the directory starts.

    zipfile reads the whole directory before its size can be checked.
    """
    length = file.seek(0, os.SEEK_END)
    file.seek(max(length - _END.size - 0xFFFF, 0))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        raise BadInputError("it is not a zip file, or its end is missing")
    *_, count, size, start, comment = _END.unpack_from(tail, at)
    behind = len(tail) - at - _END.size - comment
    at64 = at - _LOCATOR_BYTES - _END64.size
    if at64 >= 0 and tail.startswith(b"PK\x06\x07", at - _LOCATOR_BYTES):
        *_, count, size, start = _END64.unpack_from(tail, at64)
        at = at64
    if count > MEMBERS_LIMIT or size > DIRECTORY_LIMIT:
        raise BadInputError(
            f"its directory has {count} members in {size} bytes, "
            f"more than the {MEMBERS_LIMIT} in {DIRECTORY_LIMIT} allowed"
        )
    if behind or start + size != length - len(tail) + at:
        raise BadInputError("bytes are missing, or there is data before or after it")
    return count, start


def _check_member(info: zipfile.ZipInfo) -> str:
    """Return a member's name in NFC; a folder keeps its trailing slash."""
    name = unicodedata.normalize("NFC", info.orig_filename)
    parts = name.removesuffix("/").split("/")
    dots = [part for part in parts if not part.strip(". ")]  # or what some systems treat as such
    too_long = len(name.encode()) > NAME_BYTES or any(len(p.encode()) > PART_BYTES for p in parts)
    special = S_IFMT(info.external_attr >> 16) not in (0, S_IFDIR if name[-1:] == "/" else S_IFREG)
    stored, packed, size = not info.compress_type, info.compress_size, info.file_size
    for wrong, problem in (
        (re.search(r"[\x00-\x1f\x7f-\x9f\\]", name), "its name has a control code or backslash"),
        (re.match("/|[A-Za-z]:", name), "its name is an absolute path"),
        (dots, f"its name has the parts {dots}"),
        (too_long, f"its name has over {NAME_BYTES} bytes, or a part of over {PART_BYTES}"),
        (special, "it is a link or another special file"),
        (info.flag_bits & _ENCRYPTED, "it is encrypted"),
        (
            info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
            f"its compression method is {info.compress_type}, not stored or deflated",
        ),
        (stored and packed != size, f"it is stored in {packed} bytes, but the listing says {size}"),
        (
            size > max(RATIO_FREE_BYTES, RATIO_LIMIT * packed),
            f"it unpacks from {packed} to {size} bytes, more than {RATIO_LIMIT} times",
        ),
    ):
        if wrong:
            raise BadInputError(problem)
    return name


def _check_overlaps(infos: list[zipfile.ZipInfo], directory: int) -> None:
    """Reject overlapping members, which Python detects only since 3.11.8."""
    ends = sorted(
        (info.header_offset, _LOCAL_BYTES + len(info.orig_filename) + info.compress_size, number)
        for number, info in enumerate(infos)
    )
    for (start, length, number), (following, _, _) in pairwise([*ends, (directory, 0, 0)]):
        if start + length > following:
            raise BadInputError(
                f"member {infos[number].orig_filename!r:.99}: its data overlaps others"
            )


def _check_collisions(names: list[str]) -> None:
    """Reject names that are the same file on some system, and files that are also folders."""
    # NUL for the slash sorts first: a file comes right before its contents as a folder.
    keys = sorted((_fold(name).replace("/", "\0"), name) for name in names)
    for (key, name), (next_key, next_name) in pairwise(keys):
        if key == next_key or next_key.startswith(f"{key}\0"):
            raise BadInputError(
                f"members {name!r:.99} and {next_name!r:.99} are the same file, or one is a "
                "file and the folder of the other"
            )


def _fold(name: str) -> str:
    """Fold names that differ only in case, Unicode form, or trailing dots and spaces."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())
    return "/".join(part.rstrip(". ") for part in folded.split("/"))


def _left_out(name: str) -> bool:
    return name.endswith(("/", ".DS_Store")) or name.startswith("__MACOSX/")
