"""A zip file from somewhere: looked at as a whole before a byte of it is unpacked."""

import re
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from stat import S_IFDIR, S_IFMT, S_IFREG
from typing import BinaryIO, NamedTuple, Self

from idemnet.errors import BadInputError
from idemnet.fetch.zip_directory import Entry, Span, check_local, find_directory, read_entries

RATIO_LIMIT, RATIO_FREE_BYTES = 200, 1_000_000
"""A member of more than so many bytes may not unpack to more than 200 times its packed size."""
NAME_BYTES, PART_BYTES = 1024, 255
CHUNK = 1 << 18

_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1 | 0x20 | 0x40 | 0x2000  # password, patch data, strong encryption, masked header


class Member(NamedTuple):
    """A file in an archive."""

    name: str
    """Relative, with slashes, in unicode's composed form, and safe to use as a path."""
    size: int
    crc: int
    packed: int
    deflated: bool
    start: int
    """Of its packed bytes in the archive."""


@dataclass(frozen=True)
class Archive:
    """A zip file whose whole directory is in order.

    It holds no open file, so that it can be sent to other processes. An archive within it is a
    file like any other: it is never unpacked, so it cannot do harm.
    """

    path: Path
    members: tuple[Member, ...]
    """The files, sorted by name; folders and what macOS adds for itself are left out."""

    @classmethod
    def open(cls, path: Path, *, limit_bytes: int) -> Self:
        """Check names, kinds, sizes and places of all members.

        Raises:
            BadInputError: If one of them is wrong: then nothing in the archive is to be trusted.

        """
        with _naming(path), path.open("rb") as file:
            span = find_directory(file)
            members = _locate(file, span, _checked_entries(file, span, limit_bytes))
            if not members:
                raise BadInputError("there is no file in it")
            return cls(path, tuple(sorted(members)))

    def read(self, member: Member) -> Iterator[bytes]:
        """Unpack one member piece by piece.

        Raises:
            BadInputError: If it is not, to the last bit, what the directory says; whatever came
                before must then be thrown away.

        """
        with _naming(self.path), _naming_member(member.name), self.path.open("rb") as file:
            size, crc = 0, 0
            for chunk in _unpacked(file, member):
                size, crc = size + len(chunk), zlib.crc32(chunk, crc)
                if size > member.size:
                    raise BadInputError(f"it has more than the {member.size} bytes it says")
                yield chunk
            if size != member.size:
                raise BadInputError(f"it has {size} bytes and says {member.size}")
            if crc != member.crc:
                raise BadInputError("it is damaged: its checksum is wrong")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except BadInputError as error:
        raise BadInputError(f"archive {path}: {error}") from error
    except OSError as error:
        raise BadInputError(f"archive {path} cannot be read: {error.strerror or error}") from error


@contextmanager
def _naming_member(name: str) -> Iterator[None]:
    try:
        yield
    except BadInputError as error:
        raise BadInputError(f"member {name!r:.99}: {error}") from error


def _checked_entries(file: BinaryIO, span: Span, limit_bytes: int) -> list[tuple[str, Entry]]:
    total, found = 0, []
    for entry in read_entries(file, span):
        with _naming_member(entry.name):
            name = _safe_name(entry.name)
            _check_kind(entry)
            _check_size(entry)
            total += entry.size
            if total > limit_bytes:
                raise BadInputError(
                    f"with it the archive unpacks to more than the {limit_bytes} bytes allowed"
                )
        found.append((name, entry))
    _check_collisions([name for name, _ in found])
    return found


def _safe_name(raw: str) -> str:
    """Return the name composed, or refuse it; a folder keeps its slash at the end."""
    name = unicodedata.normalize("NFC", raw)
    if any(unicodedata.category(character) == "Cc" for character in name):
        raise BadInputError("its name has control characters")
    if "\\" in name:
        raise BadInputError("its name has a backslash")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        raise BadInputError("its name is an absolute path")
    for part in name.removesuffix("/").split("/"):
        if not part.strip(". "):  # empty, dots, or what some systems take for these
            raise BadInputError(f"its name has the part {part!r}")
        if len(part.encode()) > PART_BYTES:
            raise BadInputError(f"its name has a part of more than {PART_BYTES} bytes")
    if len(name.encode()) > NAME_BYTES:
        raise BadInputError(f"its name has more than {NAME_BYTES} bytes")
    return name


def _check_kind(entry: Entry) -> None:
    folder = entry.name.endswith("/")
    if S_IFMT(entry.mode) not in (0, S_IFDIR if folder else S_IFREG):
        raise BadInputError("it is a link or another special file")
    if entry.flags & _ENCRYPTED:
        raise BadInputError("it is encrypted")
    if entry.method not in (_STORED, _DEFLATED):
        raise BadInputError(f"it is packed by method {entry.method}, not stored or deflated")


def _check_size(entry: Entry) -> None:
    if entry.method == _STORED and entry.packed != entry.size:
        raise BadInputError(f"it is stored in {entry.packed} bytes and says {entry.size}")
    if entry.size > max(RATIO_FREE_BYTES, RATIO_LIMIT * entry.packed):
        raise BadInputError(
            f"it unpacks from {entry.packed} to {entry.size} bytes, "
            f"more than the {RATIO_LIMIT} times allowed"
        )


def _check_collisions(names: list[str]) -> None:
    """Refuse names that are one file on some system, and a file that is also a folder."""
    keys = sorted((_key(name), name) for name in names)
    for (key, name), (next_key, next_name) in pairwise(keys):
        if key == next_key:
            raise BadInputError(f"members {name!r:.99} and {next_name!r:.99} are the same file")
        if next_key.startswith(f"{key}\0"):
            raise BadInputError(
                f"member {name!r:.99} is a file and the folder of {next_name!r:.99}"
            )


def _key(name: str) -> str:
    """Equal for names that differ by case, composition, or dots and spaces at the end of parts.

    NUL for the slash, as it sorts before all else: a file comes just before what is inside it.
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())
    return "\0".join(part.rstrip(". ") for part in folded.split("/"))


def _locate(file: BinaryIO, span: Span, entries: list[tuple[str, Entry]]) -> list[Member]:
    """Find each member's bytes; none may lie in another's, nor in the directory."""
    members, taken, last = [], 0, ""
    for name, entry in sorted(entries, key=lambda pair: pair[1].offset):
        with _naming_member(entry.name):
            start = check_local(file, entry)
            if entry.offset < taken:
                raise BadInputError(f"its bytes lie within those of {last!r:.99}")
            taken, last = start + entry.packed, name
        if not _left_out(name):
            deflated = entry.method == _DEFLATED
            members.append(Member(name, entry.size, entry.crc, entry.packed, deflated, start))
    if taken > span.start:
        raise BadInputError(f"member {last!r:.99}: its bytes run into the directory")
    return members


def _left_out(name: str) -> bool:
    parts = name.split("/")
    return parts[-1] in ("", ".DS_Store") or parts[0] == "__MACOSX"


def _unpacked(file: BinaryIO, member: Member) -> Iterator[bytes]:
    """Unpack at most a chunk at a time, whatever the packed bytes claim."""
    file.seek(member.start)
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    left = member.packed
    while left:
        data = file.read(min(CHUNK, left))
        if not data:
            raise BadInputError("bytes are missing at its end")
        left -= len(data)
        if not member.deflated:
            yield data
            continue
        try:
            while data and not inflater.eof:
                yield inflater.decompress(data, CHUNK)
                data = inflater.unconsumed_tail
        except zlib.error:
            raise BadInputError("it is damaged: it cannot be unpacked") from None
        if inflater.eof and (left or inflater.unused_data):
            raise BadInputError("it is damaged: it ends before its last byte")
    if member.deflated and not inflater.eof:
        raise BadInputError("it is damaged: its end is missing")
