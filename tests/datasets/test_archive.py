import io
import pickle
import stat
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idemnet.datasets import zip_directory
from idemnet.datasets.archive import RATIO_LIMIT, Archive
from idemnet.errors import BadInputError

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


def special(mode):
    info = zipfile.ZipInfo("link")
    info.external_attr = mode << 16
    return info, b"/etc/passwd"


def refused(path, limit=LIMIT):
    """Open and expect a refusal that names the archive; nothing else may appear."""
    before = sorted(path.parent.iterdir())
    with pytest.raises(BadInputError) as caught:
        Archive.open(path, limit_bytes=limit)
    assert sorted(path.parent.iterdir()) == before
    assert str(path) in str(caught.value)
    return str(caught.value)


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


def content(archive, name):
    (member,) = [member for member in archive.members if member.name == name]
    return b"".join(archive.read(member))


# What is read


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_as_they_were_written(tmp_path, method):
    files = {"b/ü 模糊.png": b"x" * 700_000, "a.txt": b"", "b/A.png": GOOD}
    path = write(tmp_path / "a.zip", *files.items(), method=method)
    archive = pickle.loads(pickle.dumps(Archive.open(path, limit_bytes=LIMIT)))
    assert [member.name for member in archive.members] == sorted([*files, "good/first.bin"])
    for name, data in files.items():
        assert content(archive, name) == data
        (member,) = [member for member in archive.members if member.name == name]
        assert (member.size, member.crc) == (len(data), zlib.crc32(data))


def test_folders_and_what_macos_adds_are_left_out(tmp_path):
    junk = ["b/.DS_Store", "__MACOSX/._a.png", "b/c/", ".DS_Store"]
    archive = Archive.open(write(tmp_path / "a.zip", *junk, "b/c/a.png"), limit_bytes=LIMIT)
    assert [member.name for member in archive.members] == ["b/c/a.png", "good/first.bin"]


def test_streamed_and_large_archives_are_read(tmp_path):
    class Pipe(io.RawIOBase):  # cannot be sought in, so that sizes follow the data
        def __init__(self):
            self.data = b""

        def writable(self):
            return True

        def write(self, data):
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.bin", GOOD)
        with archive.open("b.bin", "w", force_zip64=True) as file:
            file.write(GOOD)
    path = tmp_path / "a.zip"
    path.write_bytes(pipe.data)
    opened = Archive.open(path, limit_bytes=LIMIT)
    assert content(opened, "a.bin") == content(opened, "b.bin") == GOOD


def test_more_members_than_fit_in_16_bits_are_read(tmp_path):
    path = zip_of_many(tmp_path / "a.zip", count=65_600, packed=0)
    assert len(Archive.open(path, limit_bytes=LIMIT).members) == 65_600
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 65_600


def test_comment_at_the_end_is_no_harm(tmp_path):
    path = write(tmp_path / "a.zip")
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"hello" * 1000
    assert content(Archive.open(path, limit_bytes=LIMIT), "good/first.bin") == GOOD


def test_names_are_composed_the_same_on_every_machine(tmp_path):
    path = write(tmp_path / "a.zip", "u\u0308.png")
    assert Archive.open(path, limit_bytes=LIMIT).members[1].name == "\u00fc.png"


def test_archive_within_is_only_a_file(tmp_path):
    inner = write(tmp_path / "inner.zip").read_bytes()
    archive = Archive.open(write(tmp_path / "a.zip", ("in.zip", inner)), limit_bytes=LIMIT)
    assert content(archive, "in.zip") == inner


# Names and kinds that are refused


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../evil", "'..'"),
        ("a/../../evil", "'..'"),
        ("a/..", "'..'"),
        ("./a", "'.'"),
        ("a//b", "''"),
        ("a/ ./b", "' .'"),
        ("/etc/evil", "absolute"),
        ("C:/evil", "absolute"),
        ("c:evil", "absolute"),
        ("a\\..\\evil", "backslash"),
        ("evil.png\0.txt", "control"),
        ("a\nb", "control"),
        ("a\x1b[2J", "control"),
        ("a\x85", "control"),
        ("", "''"),
        ("/", "absolute"),
        ("a" * 256, "255"),
        ("abc/" * 300 + "a", "1024"),
    ],
)
def test_unsafe_name_refuses_the_whole_archive(tmp_path, name, why):
    message = refused(write(tmp_path / "a.zip", raw_name(name)))
    assert f"member {name!r:.99}" in message
    assert why in message.removeprefix(f"archive {tmp_path}")


@pytest.mark.parametrize(
    "names",
    [
        ("a.png", "a.png"),
        ("a.png", "A.PNG"),
        ("stra\u00dfe", "STRASSE"),
        ("u\u0308.png", "\u00fc.png"),
        ("b/U\u0308.png", "B/\u00fc.png"),
        ("a.png", "a.png."),
        ("d /a", "d/a"),
        ("d", "d/a"),
        ("d", "D/"),
        ("d/e", "d/e/f/g"),
        ("d!", "d", "d/e"),
    ],
)
def test_names_that_are_one_place_refuse_the_whole_archive(tmp_path, names):
    message = refused(write(tmp_path / "a.zip", *map(raw_name, names)))
    assert "same file" in message or "is a file and the folder of" in message


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_special_files_refuse_the_whole_archive(tmp_path, mode):
    message = refused(write(tmp_path / "a.zip", special(mode | 0o777)))
    assert "member 'link': it is a link or another special file" in message


def test_folder_that_is_named_like_a_file_is_refused(tmp_path):
    assert "special" in refused(write(tmp_path / "a.zip", special(stat.S_IFDIR | 0o755)))


def test_name_that_is_no_text_is_refused(tmp_path):
    path = write(tmp_path / "a.zip", "\u00fc.png")
    path.write_bytes(path.read_bytes().replace("\u00fc.png".encode(), b"\xff\xfe.png"))
    assert "no text" in refused(path)


@pytest.mark.parametrize(
    ("method", "why"), [(zipfile.ZIP_BZIP2, "method 12"), (zipfile.ZIP_LZMA, "method 14")]
)
def test_other_packing_is_refused(tmp_path, method, why):
    assert why in refused(write(tmp_path / "a.zip", method=method))


@pytest.mark.parametrize("flag", [0x1, 0x40, 0x2000])
def test_encrypted_member_is_refused(tmp_path, flag):
    path = patched(write(tmp_path / "a.zip", "b.bin"), (ENTRY, 1, 8, short(flag)))
    assert "'b.bin': it is encrypted" in refused(path)


def test_member_encrypted_only_by_its_own_header_is_refused(tmp_path):
    path = patched(write(tmp_path / "a.zip", "b.bin"), (LOCAL, 1, 6, short(1)))
    assert "'b.bin'" in refused(path)


# Bombs


def test_ratio_bomb_is_refused(tmp_path):
    message = refused(write(tmp_path / "a.zip", ("zeros", bytes(5_000_000))))
    assert "'zeros'" in message
    assert f"{RATIO_LIMIT} times" in message


def test_total_over_the_limit_is_refused(tmp_path):
    path = write(tmp_path / "a.zip", "b.bin", "c.bin")
    assert Archive.open(path, limit_bytes=3 * len(GOOD)).members
    assert "'c.bin'" in refused(path, limit=3 * len(GOOD) - 1)


def entry(name, *, offset=0, packed=0, size=0, method=0):
    fields = (20, 0x314, 0, method, 0, 0, 0, packed, size, len(name), 0, 0, 0, 0, 0, offset)
    return struct.pack("<4s6H3L5H2L", ENTRY, *fields) + name


def end(count, size, start):
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, start + size, 1)
    full = (0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    return record + locator + struct.pack("<4s4H2LH", END, 0, 0, *full, 0)


def bomb_of_many(path, said):
    head = entry(b"0000000").removesuffix(b"0000000")
    entries = b"".join(head + b"%07d" % number for number in range(1_000_001))
    path.write_bytes(entries + end(said, len(entries), 0))
    return path


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


def bomb_of_overlaps(path):
    """Little is packed, much is unpacked: each member's bytes are also those of the next."""
    return zip_of_many(path, count=20_000, packed=900)


MEASURE = """
import resource, sys
from pathlib import Path
from idemnet.datasets.archive import Archive
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    Archive.open(Path(sys.argv[1]), limit_bytes=10**9)
except ValueError as error:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, error)
"""


@pytest.mark.parametrize("bomb", ["million", "lying million", "overlap", "ratio"])
def test_bomb_is_refused_in_little_memory(tmp_path, bomb):
    path = tmp_path / "a.zip"
    if bomb == "ratio":
        write(path, ("zeros", bytes(100_000_000)))
    elif bomb == "overlap":
        bomb_of_overlaps(path)
    else:
        bomb_of_many(path, said=1_000_001 if bomb == "million" else 100)
    command = [sys.executable, "-c", MEASURE, str(path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    kilobytes, message = out.split(" ", 1)
    assert str(path) in message
    assert int(kilobytes) < 50_000


def test_too_many_members_are_refused_before_their_directory_is_read(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(end(1_000_001, 0, 0))
    assert "1000001 members" in refused(path)
    large = zip_directory.DIRECTORY_LIMIT + 1
    with path.open("wb") as file:  # a hole: takes no room on disk
        file.seek(large)
        file.write(end(5, large, 0))
    assert "5 members" in refused(path)


def test_directory_with_more_than_it_says_is_refused(tmp_path):
    path = patched(write(tmp_path / "a.zip", "b"), (END, 0, 8, short(1) + short(1)))
    assert "more than the 1" in refused(path)
    path = patched(write(tmp_path / "b.zip", "b"), (END, 0, 8, short(3) + short(3)))
    assert "entry 3" in refused(path)


def test_overlapping_members_are_refused(tmp_path):
    assert "lie within those of" in refused(bomb_of_overlaps(tmp_path / "a.zip"))


def test_two_entries_for_the_same_bytes_are_refused(tmp_path):
    path = patched(write(tmp_path / "a.zip", "good/other.bin"), (ENTRY, 1, 42, long(0)))
    assert "'good/other.bin'" in refused(path)


def test_member_that_runs_into_the_directory_is_refused(tmp_path):
    path = write(tmp_path / "a.zip", "b.bin", method=zipfile.ZIP_STORED)
    more = long(len(GOOD) + 40) * 2
    path = patched(path, (LOCAL, 1, 18, more), (ENTRY, 1, 20, more))
    assert "'b.bin': its bytes run into the directory" in refused(path)


@pytest.mark.parametrize("offset", [14, 18, 22])
def test_header_that_disagrees_with_the_directory_is_refused(tmp_path, offset):
    path = patched(write(tmp_path / "a.zip", "b.bin"), (LOCAL, 1, offset, long(12345)))
    assert "'b.bin'" in refused(path)
    assert "disagree" in refused(path)


@pytest.mark.parametrize("size", [len(GOOD) - 1, len(GOOD) + 1, 0])
def test_member_that_lies_about_its_size_is_refused_when_read(tmp_path, size):
    path = write(tmp_path / "a.zip", "b.bin")
    path = patched(path, (LOCAL, 1, 22, long(size)), (ENTRY, 1, 24, long(size)))
    archive = Archive.open(path, limit_bytes=LIMIT)
    pieces = []
    with pytest.raises(BadInputError, match=r"a\.zip: member 'b\.bin': it has"):
        pieces.extend(archive.read(archive.members[0]))
    assert sum(map(len, pieces)) <= size


def test_stored_member_that_lies_about_its_size_is_refused(tmp_path):
    path = write(tmp_path / "a.zip", "b.bin", method=zipfile.ZIP_STORED)
    path = patched(path, (LOCAL, 1, 22, long(9)), (ENTRY, 1, 24, long(9)))
    assert "'b.bin': it is stored in" in refused(path)


def test_large_member_is_read_in_small_pieces(tmp_path):
    path = write(tmp_path / "a.zip", ("b.bin", b"".join(b"%09d\n" % n for n in range(1_000_000))))
    archive = Archive.open(path, limit_bytes=LIMIT)
    tracemalloc.start()
    size = sum(len(piece) for piece in archive.read(archive.members[0]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size == 10_000_000
    assert peak < 3_000_000


# Damage


@pytest.mark.parametrize("keep", [-1, "half", 10, 0, 22])
def test_truncated_archive_is_refused(tmp_path, keep):
    path = write(tmp_path / "a.zip", "b.bin")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 if keep == "half" else keep])
    refused(path)


def test_bytes_in_front_or_behind_are_refused(tmp_path):
    data = write(tmp_path / "a.zip").read_bytes()
    for number, changed in enumerate((b"MZ" + data, data + b"\0")):
        path = tmp_path / f"{number}.zip"
        path.write_bytes(changed)
        refused(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_flipped_byte_names_archive_and_member(tmp_path, method):
    path = write(tmp_path / "a.zip", "b/c.bin", method=method)
    data = bytearray(path.read_bytes())
    data[data.rindex(LOCAL) + 200] ^= 1
    path.write_bytes(data)
    archive = Archive.open(path, limit_bytes=LIMIT)
    assert content(archive, "good/first.bin") == GOOD
    with pytest.raises(BadInputError, match=r"a\.zip: member 'b/c\.bin': it is damaged"):
        content(archive, "b/c.bin")


def test_archive_that_shrinks_after_it_was_opened_is_refused(tmp_path):
    path = write(tmp_path / "a.zip", method=zipfile.ZIP_STORED)
    archive = Archive.open(path, limit_bytes=LIMIT)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(BadInputError, match="bytes are missing"):
        content(archive, "good/first.bin")
    path.unlink()
    with pytest.raises(BadInputError, match=r"a\.zip cannot be read: No such file"):
        content(archive, "good/first.bin")


@pytest.mark.parametrize("data", [b"", b"<html>not found</html>", b"PK\x03\x04", bytes(100_000)])
def test_what_is_no_zip_is_refused(tmp_path, data):
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    assert "no zip file" in refused(path)


def test_archive_without_a_file_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    for names in ((), ("folder/", "__MACOSX/._x")):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, b"")
        assert "no file in it" in refused(path)


# Whatever comes


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text("ab./\\:\0 C\u0308\u00fc~\n", max_size=8), min_size=1, max_size=4))
def test_no_name_leads_out_of_the_folder(tmp_path_factory, names):
    folder = tmp_path_factory.getbasetemp() / "names"
    folder.mkdir(exist_ok=True)
    path = write(folder / "a.zip", *map(raw_name, names))
    try:
        members = Archive.open(path, limit_bytes=LIMIT).members
    except BadInputError:
        return
    inside = (folder / "in").resolve()
    places = [(inside / member.name).resolve() for member in members]
    assert all(place.is_relative_to(inside) and place != inside for place in places)
    assert len({str(place).casefold() for place in places}) == len(places)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_archive_is_refused_or_gives_the_right_bytes(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "damaged.zip"
    write(path, ("b", b"abc" * 20), ("c/d", b"x"))
    whole = bytearray(path.read_bytes())
    start = len(whole) - 250 if data.draw(st.booleans()) else 0  # often the directory
    at = data.draw(st.integers(max(start, 0), len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    path.write_bytes(whole)
    right = {GOOD, b"abc" * 20, b"x"}
    try:
        archive = Archive.open(path, limit_bytes=LIMIT)
        assert {b"".join(archive.read(member)) for member in archive.members} <= right
    except BadInputError as error:
        assert str(path) in str(error)
