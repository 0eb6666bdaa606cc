import io
import pickle
import zipfile

import pytest

from .archives import ENTRY, GOOD, check, contents, patched, refused, short, write, zip_of_many

# What is read


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_are_read_as_they_were_written(tmp_path, method):
    files = {"b/ü 模糊.png": b"x" * 700_000, "a.txt": b"", "b/A.png": GOOD}
    path = write(tmp_path / "a.zip", *files.items(), method=method)
    members = pickle.loads(pickle.dumps(check(path)))  # as it is sent to other processes
    assert list(members) == sorted([*files, "good/first.bin"])
    assert contents(path, members) == {**files, "good/first.bin": GOOD}


def test_folders_and_what_macos_adds_are_left_out(tmp_path):
    junk = ["b/.DS_Store", "__MACOSX/._a.png", "b/c/", ".DS_Store"]
    path = write(tmp_path / "a.zip", *junk, "b/c/a.png")
    assert list(check(path)) == ["b/c/a.png", "good/first.bin"]


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
    assert contents(path) == {"a.bin": GOOD, "b.bin": GOOD}


def test_more_members_than_fit_in_16_bits_are_read(tmp_path):
    path = zip_of_many(tmp_path / "a.zip", count=65_600, packed=0)
    assert len(check(path)) == 65_600


def test_comment_at_the_end_is_no_harm(tmp_path):
    path = write(tmp_path / "a.zip")
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"hello" * 1000
    assert contents(path) == {"good/first.bin": GOOD}


def test_names_are_composed_the_same_on_every_machine(tmp_path):
    path = write(tmp_path / "a.zip", "u\u0308.png")
    assert list(check(path))[1] == "\u00fc.png"


# Names and kinds that are refused


@pytest.mark.parametrize(
    ("method", "why"), [(zipfile.ZIP_BZIP2, "method is 12"), (zipfile.ZIP_LZMA, "method is 14")]
)
def test_other_packing_is_rejected(tmp_path, method, why):
    assert why in refused(write(tmp_path / "a.zip", method=method))


@pytest.mark.parametrize("flag", [0x1, 0x40, 0x2000])
def test_encrypted_member_is_rejected(tmp_path, flag):
    path = patched(write(tmp_path / "a.zip", "b.bin"), (ENTRY, 1, 8, short(flag)))
    assert "'b.bin': it is encrypted" in refused(path)
