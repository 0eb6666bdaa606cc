"""The directory of a zip file, read entry by entry and believed in nothing.

The standard library's reader takes the whole directory into memory before it can be asked how long
it is, cuts names at NUL, and in Python 3.11 lets entries overlap. Hence this one.
"""

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from idemnet.errors import BadInputError

MEMBERS_LIMIT = 1_000_000
DIRECTORY_LIMIT = 256 << 20
"""Bytes of a directory that is read at all; a million names of ordinary length fit."""

_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_STREAMED, _UTF8 = 0x8, 0x800


class Entry(NamedTuple):
    """What the directory says of one member."""

    raw_name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    mode: int
    """Unix file mode; 0 if the archive was made elsewhere."""
    offset: int
    """Of the member's own header in the file."""

    @property
    def name(self) -> str:
        """The name as it stands there, unsafe characters and all."""
        try:
            return self.raw_name.decode("utf-8" if self.flags & _UTF8 else "cp437")
        except UnicodeDecodeError:
            raise BadInputError(
                f"member {self.raw_name!r:.99} has a name that is no text"
            ) from None


class Span(NamedTuple):
    """Where the directory lies in the file, and how many entries it has."""

    start: int
    end: int
    members: int


def find_directory(file: BinaryIO) -> Span:
    """Find the directory from the end of the file, and refuse one that is out of all bounds."""
    length = file.seek(0, os.SEEK_END)
    tail_start = max(length - _END.size - _FULL16, 0)
    file.seek(tail_start)
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        raise BadInputError("it is no zip file, or its end is missing")
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(tail, at)
    if at + _END.size + comment != len(tail):
        raise BadInputError("its end is missing, or bytes follow it")
    end = tail_start + at
    large = _large_directory(file, end)
    if large is not None:
        disk, first_disk, here, count, size, start, end = large
    if disk or first_disk or here != count:
        raise BadInputError("it is one of several parts")
    if count > MEMBERS_LIMIT or size > DIRECTORY_LIMIT:
        raise BadInputError(
            f"its directory has {count} members in {size} bytes, "
            f"more than the {MEMBERS_LIMIT} in {DIRECTORY_LIMIT} allowed"
        )
    if start + size != end:
        raise BadInputError("its directory is not where its end says, or bytes are missing")
    return Span(start, end, count)


def _large_directory(file: BinaryIO, end: int) -> tuple[int, int, int, int, int, int, int] | None:
    """Read the end record of a zip64 file; None if it is not one."""
    at = end - _LOCATOR.size
    if at < 0:
        return None
    signature, _, position, _ = _LOCATOR.unpack(_read(file, at, _LOCATOR.size))
    if signature != b"PK\x06\x07":
        return None
    if position + _END64.size > at:
        raise BadInputError("its zip64 end record is not where it should be")
    record = _END64.unpack(_read(file, position, _END64.size))
    if record[0] != b"PK\x06\x06":
        raise BadInputError("its zip64 end record is not where it should be")
    _, _, _, _, disk, first_disk, here, count, size, start = record
    return disk, first_disk, here, count, size, start, position


def read_entries(file: BinaryIO, span: Span) -> Iterator[Entry]:
    """Read the directory in order, without keeping it."""
    file.seek(span.start)
    for number in range(span.members):
        head = file.read(_ENTRY.size)
        if len(head) < _ENTRY.size or not head.startswith(b"PK\x01\x02"):
            raise BadInputError(f"entry {number + 1} of its directory is damaged")
        (_, _, _, flags, method, _, _, crc, packed, size) = _ENTRY.unpack(head)[:10]
        (name_bytes, extra_bytes, comment_bytes, _, _, mode, offset) = _ENTRY.unpack(head)[10:]
        raw_name, extra = file.read(name_bytes), file.read(extra_bytes)
        file.read(comment_bytes)
        if file.tell() > span.end:
            raise BadInputError(f"entry {number + 1} of its directory runs past the end")
        size, packed, offset = _widen(extra, (size, packed, offset))
        yield Entry(raw_name, flags, method, crc, packed, size, mode >> 16, offset)
    if file.tell() != span.end:
        raise BadInputError(f"its directory has more than the {span.members} members it says")


def check_local(file: BinaryIO, entry: Entry) -> int:
    """Compare a member's own header with the directory; return where its bytes start."""
    head = _read(file, entry.offset, _LOCAL.size)
    if not head.startswith(b"PK\x03\x04"):
        raise BadInputError("it does not start where the directory says")
    _, _, flags, method, _, _, crc, packed, size, name_bytes, extra_bytes = _LOCAL.unpack(head)
    raw_name, extra = file.read(name_bytes), file.read(extra_bytes)
    start = file.tell()
    size, packed = _widen(extra, (size, packed))
    ours = (entry.raw_name, entry.method, entry.flags & 1, entry.size, entry.packed, entry.crc)
    theirs = (raw_name, method, flags & 1, size, packed, crc)
    unknown_yet = flags & _STREAMED and not (size or packed or crc)
    if ours[:3] != theirs[:3] or not (unknown_yet or ours == theirs):
        raise BadInputError("its own header and the directory disagree on name, size or packing")
    return start


def _widen(extra: bytes, values: tuple[int, ...]) -> tuple[int, ...]:
    """Replace the numbers that did not fit in 32 bits by those of the zip64 field."""
    if _FULL32 not in values:
        return values
    wide = _zip64_numbers(extra)
    try:
        return tuple(wide.pop(0) if value == _FULL32 else value for value in values)
    except IndexError:
        raise BadInputError("a size of more than 32 bits is missing") from None


def _zip64_numbers(extra: bytes) -> list[int]:
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<2H", extra)
        if kind == 1:
            numbers = extra[4 : 4 + length]
            return [n for (n,) in struct.iter_unpack("<Q", numbers[: len(numbers) // 8 * 8])]
        extra = extra[4 + length :]
    return []


def _read(file: BinaryIO, at: int, count: int) -> bytes:
    file.seek(at)
    data = file.read(count)
    if len(data) < count:
        raise BadInputError("bytes are missing")
    return data
