import io
import pickle
import zipfile
import zlib

import pytest

from idemnet.fetch.archive import Archive

from .archives import (
    ENTRY,
    GOOD,
    LIMIT,
    LOCAL,
    content,
    patched,
    refused,
    short,
    write,
    zip_of_many,
)

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


# Names and kinds that are refused


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
