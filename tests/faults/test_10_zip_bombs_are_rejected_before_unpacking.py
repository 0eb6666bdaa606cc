"""A zip bomb of any kind is rejected by its directory, in little memory, with nothing written."""

import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib

import pytest

from idemnet.errors import BadInputError
from idemnet.fetch.archive import DIRECTORY_LIMIT, RATIO_LIMIT, read_members

from ..fetch.archives import (
    END,
    ENTRY,
    GOOD,
    LOCAL,
    check,
    contents,
    end,
    entry,
    long,
    patched,
    refused,
    short,
    write,
)


def test_archive_within_is_only_a_file(tmp_path):
    inner = write(tmp_path / "inner.zip").read_bytes()
    assert contents(write(tmp_path / "a.zip", ("in.zip", inner)))["in.zip"] == inner


def test_ratio_bomb_is_rejected(tmp_path):
    message = refused(write(tmp_path / "a.zip", ("zeros", bytes(5_000_000))))
    assert "'zeros'" in message
    assert f"{RATIO_LIMIT} times" in message


def test_total_over_the_limit_is_rejected(tmp_path):
    path = write(tmp_path / "a.zip", "b.bin", "c.bin")
    assert check(path, limit=3 * len(GOOD))
    assert "'c.bin'" in refused(path, limit=3 * len(GOOD) - 1)


def bomb_of_many(path, said):
    head = entry(b"0000000").removesuffix(b"0000000")
    entries = b"".join(head + b"%07d" % number for number in range(1_000_001))
    path.write_bytes(entries + end(said, len(entries), 0))
    return path


def bomb_of_quoted_overlaps(path, count=400, kernel=bytes(900_000)):
    """Each member is the header of the next one, quoted, and then all that this one is."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed, content = deflate.compress(kernel) + deflate.flush(), kernel
    headers = []
    for number in reversed(range(count)):
        name = b"%05d.png" % number
        about = (zlib.crc32(content), len(packed), len(content))
        headers.append((name, about))
        head = struct.pack("<4s5H3L2H", LOCAL, 20, 0, 8, 0, 0, *about, len(name), 0) + name
        quote = b"\0" + short(len(head)) + short(len(head) ^ 0xFFFF)
        start, packed, content = len(quote), quote + head + packed, head + content
    body, directory, offset = packed[start:], b"", 0
    for name, (crc, size, unpacked) in reversed(headers):
        one = entry(name, offset=offset, packed=size, size=unpacked, method=8)
        directory += one[:16] + long(crc) + one[20:]
        offset += len(head) + start
    path.write_bytes(body + directory + end(count, len(directory), len(body)))
    return path


def bomb_of_a_liar(path):
    """It says a thousand bytes, in both places, and unpacks to thirty million."""
    write(path, ("train/a/0.png", bytes(30_000_000)))
    said = long(1000)
    return patched(path, (LOCAL, 1, 22, said), (ENTRY, 1, 24, said))


BOMBS = {
    "ratio": lambda path: write(path, ("zeros", bytes(30_000_000))),
    "million": lambda path: bomb_of_many(path, said=1_000_001),
    "lying million": lambda path: bomb_of_many(path, said=100),
    "overlap": bomb_of_quoted_overlaps,
    "total": lambda path: write(
        path, *((f"{number}.bin", bytes(1_000_000)) for number in range(101))
    ),
    "liar": bomb_of_a_liar,
}

MEASURE = """
import sys
from pathlib import Path
from idemnet.datasets.raw import RawDataset
from idemnet.pipelines.download import download
from idemnet.parameters.source import SourceParameters
from idemnet.system.resources import peak_memory
archive = {"addresses": [sys.argv[1]], "unpacked_gigabytes": 0.1}
source = SourceParameters.model_validate({"kind": "archive", "archive": archive})
place = Path(sys.argv[1]).parent
dataset = RawDataset(str(place / "raw" / "set"))
before = peak_memory()
try:
    dataset.save(download(source))
except Exception as error:
    print(peak_memory() - before, error.__cause__)
"""


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_writes_nothing_and_takes_little_memory(tmp_path, bomb):
    path = tmp_path / "a.zip"
    BOMBS[bomb](path)
    command = [sys.executable, "-c", MEASURE, str(path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    taken, message = out.split(" ", 1)
    assert str(path) in message
    assert int(taken) < 50_000_000
    assert list(tmp_path.rglob("*")) == [path]


def test_the_quoted_overlap_is_a_real_one(tmp_path):
    """Each member unpacks, by itself, to all of the kernel and what was quoted."""
    path = bomb_of_quoted_overlaps(tmp_path / "a.zip", count=5)
    with path.open("rb") as file:
        for number in range(5):
            file.seek(number * (39 + 5))
            head = file.read(39)
            packed, size = struct.unpack_from("<2L", head, 18)
            data = zlib.decompress(file.read(packed), -15)
            assert len(data) == size >= 900_000
            assert zlib.crc32(data) == struct.unpack_from("<L", head, 14)[0]
    assert "its data overlaps others" in refused(path)


def test_too_many_members_are_rejected_before_their_directory_is_read(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(end(1_000_001, 0, 0))
    assert "1000001 members" in refused(path)
    large = DIRECTORY_LIMIT + 1
    with path.open("wb") as file:  # a hole: takes no room on disk
        file.seek(large)
        file.write(end(5, large, 0))
    assert "5 members" in refused(path)


def test_directory_with_more_than_it_says_is_rejected(tmp_path):
    path = patched(write(tmp_path / "a.zip", "b"), (END, 0, 8, short(1) + short(1)))
    assert "has 2 members, its end record says 1" in refused(path)
    path = patched(write(tmp_path / "b.zip", "b"), (END, 0, 8, short(3) + short(3)))
    assert "has 2 members, its end record says 3" in refused(path)


def test_two_entries_for_the_same_bytes_are_rejected(tmp_path):
    path = patched(write(tmp_path / "a.zip", "good/other.bin"), (ENTRY, 1, 42, long(0)))
    assert "'good/first.bin': its data overlaps others" in refused(path)


def test_member_that_runs_into_the_directory_is_rejected(tmp_path):
    path = write(tmp_path / "a.zip", "b.bin", method=zipfile.ZIP_STORED)
    more = long(len(GOOD) + 40) * 2
    path = patched(path, (LOCAL, 1, 18, more), (ENTRY, 1, 20, more))
    assert "'b.bin': its data overlaps others" in refused(path)


@pytest.mark.parametrize("offset", [14, 18, 22])
def test_sizes_beside_the_data_count_for_nothing(tmp_path, offset):
    path = patched(write(tmp_path / "a.zip", "b.bin"), (LOCAL, 1, offset, long(12345)))
    assert contents(path)["b.bin"] == GOOD


@pytest.mark.parametrize("size", [len(GOOD) - 1, len(GOOD) + 1, 0])
def test_member_that_lies_about_its_size_is_rejected_when_read(tmp_path, size):
    path = write(tmp_path / "a.zip", "b.bin")
    path = patched(path, (LOCAL, 1, 22, long(size)), (ENTRY, 1, 24, long(size)))
    pieces = []
    with pytest.raises(BadInputError, match=r"a\.zip: member 'b\.bin': it (has|is damaged)"):
        for _, chunks in read_members(path, {"b.bin": check(path)["b.bin"]}):
            pieces.extend(chunks)
    assert sum(map(len, pieces)) <= size


def test_stored_member_that_lies_about_its_size_is_rejected(tmp_path):
    path = write(tmp_path / "a.zip", "b.bin", method=zipfile.ZIP_STORED)
    path = patched(path, (LOCAL, 1, 22, long(9)), (ENTRY, 1, 24, long(9)))
    assert "'b.bin': it is stored in" in refused(path)


def test_large_member_is_read_in_small_pieces(tmp_path):
    path = write(tmp_path / "a.zip", ("b.bin", b"".join(b"%09d\n" % n for n in range(1_000_000))))
    members = {"b.bin": check(path)["b.bin"]}
    tracemalloc.start()
    size = sum(len(piece) for _, chunks in read_members(path, members) for piece in chunks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size == 10_000_000
    assert peak < 3_000_000
