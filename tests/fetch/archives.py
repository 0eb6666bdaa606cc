"""Zip files, good and bad, written byte by byte where nothing else would write them."""

import struct
import warnings
import zipfile

import pytest
from kedro.io import DatasetError

from idemnet.datasets.raw import RawDataset
from idemnet.fetch.archive import check_archive, read_members
from idemnet.parameters.source import SourceParameters
from idemnet.pipelines.download import download

GOOD = bytes(range(256)) * 300
LIMIT = 10**9


def write(path, *members, method=zipfile.ZIP_DEFLATED):
    """Write a zip of a good member and then others, each a name or (ZipInfo, data)."""
    with zipfile.ZipFile(path, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of duplicate names
        for member in ("good/first.bin", *members):
            info, data = member if isinstance(member, tuple) else (member, GOOD)
            archive.writestr(info, data)
    return path


def raw_name(name):
    """A member whose name is written as it is, whatever zipfile thinks of it."""
    info = zipfile.ZipInfo("x")
    info.filename = name
    info.compress_type = zipfile.ZIP_DEFLATED
    return info, GOOD


def refused(path, limit=LIMIT):
    """Have it unpacked, and expect a refusal that names it and comes before the first byte."""
    before = sorted(path.parent.rglob("*"))
    archive = {"addresses": [str(path)], "unpacked_gigabytes": limit / 1e9}
    source = SourceParameters.model_validate({"kind": "archive", "archive": archive})
    dataset = RawDataset(str(path.parent / "raw" / "set"))
    with pytest.raises(DatasetError) as caught:
        dataset.save(download(source))
    assert sorted(path.parent.rglob("*")) == before
    assert str(path) in str(caught.value.__cause__)
    return str(caught.value.__cause__)


def patched(path, *changes):
    """Change bytes: (signature of a record, its number, offset in it, new bytes)."""
    data = bytearray(path.read_bytes())
    for signature, number, offset, new in changes:
        at = -1
        for _ in range(number + 1):
            at = data.index(signature, at + 1)
        data[at + offset : at + offset + len(new)] = new
    path.write_bytes(data)
    return path


LOCAL, ENTRY, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def short(number):
    return struct.pack("<H", number)


def long(number):
    return struct.pack("<L", number)


def check(path, limit=LIMIT):
    return check_archive(path, limit_bytes=limit)


def contents(path, members=None):
    members = check(path) if members is None else members
    return {name: b"".join(chunks) for name, chunks in read_members(path, members)}


def entry(name, *, offset=0, packed=0, size=0, method=0):
    fields = (20, 0x314, 0, method, 0, 0, 0, packed, size, len(name), 0, 0, 0, 0, 0, offset)
    return struct.pack("<4s6H3L5H2L", ENTRY, *fields) + name


def end(count, size, start):
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, start + size, 1)
    full = (0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    return record + locator + struct.pack("<4s4H2LH", END, 0, 0, *full, 0)


def zip_of_many(path, count, packed):
    """Write headers one after another; with `packed` bytes each, they lie within each other."""
    head = struct.pack("<4s5H3L2H", LOCAL, 20, 0, 0, 0, 0, 0, packed, packed, 5, 0)
    names = [b"%05d" % number for number in range(count)]
    body = b"".join(head + name for name in names) + bytes(packed)
    directory = b"".join(
        entry(name, offset=number * (len(head) + 5), packed=packed, size=packed)
        for number, name in enumerate(names)
    )
    path.write_bytes(body + directory + end(count, len(directory), len(body)))
    return path
