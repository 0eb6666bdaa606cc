"""A truncated or corrupt archive is rejected with its name and its member's; no file appears."""

import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kedro.io import DatasetError

from idemnet.errors import BadInputError
from idemnet.fetch.archive import read_members
from idemnet.pipelines.download import download

from ..fetch.archives import GOOD, LOCAL, check, contents, refused, write
from ..fetch.test_sources import make_frames, raw_dataset, source, zipped


def test_a_flipped_byte_leaves_no_folder_and_the_whole_archive_then_does(tmp_path):
    path = zipped(make_frames(tmp_path / "frames"), tmp_path / "a.zip")
    whole = path.read_bytes()
    at = whole.index(b"IDAT", whole.index(b"test/c/000001.png")) + 6
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    recipe = download(source(kind="archive", archive={"addresses": [str(path)]}))
    with pytest.raises(DatasetError, match=r"a\.zip: member 'test/c/000001\.png': it is damaged"):
        raw_dataset(tmp_path).save(recipe)
    assert not (tmp_path / "raw" / "set").exists()
    path.write_bytes(whole)
    raw_dataset(tmp_path).save(recipe)
    assert len(raw_dataset(tmp_path).load().sequences) == 3


@pytest.mark.parametrize("keep", [-1, "half", 10, 0, 22])
def test_truncated_archive_is_rejected(tmp_path, keep):
    path = write(tmp_path / "a.zip", "b.bin")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 if keep == "half" else keep])
    refused(path)


def test_bytes_in_front_or_behind_are_rejected(tmp_path):
    data = write(tmp_path / "a.zip").read_bytes()
    for number, changed in enumerate((b"MZ" + data, data + b"\0")):
        path = tmp_path / f"{number}.zip"
        path.write_bytes(changed)
        assert "data before or after it" in refused(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_flipped_byte_names_archive_and_member(tmp_path, method):
    path = write(tmp_path / "a.zip", "b/c.bin", method=method)
    data = bytearray(path.read_bytes())
    data[data.rindex(LOCAL) + 200] ^= 1
    path.write_bytes(data)
    members = check(path)
    damaged = {"b/c.bin": members.pop("b/c.bin")}
    assert contents(path, members) == {"good/first.bin": GOOD}
    with pytest.raises(BadInputError, match=r"a\.zip: member 'b/c\.bin': it is damaged"):
        contents(path, damaged)


def test_archive_that_shrinks_after_it_was_opened_is_rejected(tmp_path):
    path = write(tmp_path / "a.zip", method=zipfile.ZIP_STORED)
    members, data = check(path), path.read_bytes()
    path.write_bytes(data[:1000])
    with pytest.raises(BadInputError, match=r"a\.zip: it is damaged: File is not a zip file"):
        contents(path, members)
    opened = read_members(path, members)
    path.write_bytes(data)
    _, chunks = next(opened)
    path.write_bytes(data[:1000])
    with pytest.raises(BadInputError, match="bytes are missing"):
        list(chunks)
    path.unlink()
    with pytest.raises(BadInputError, match=r"a\.zip cannot be read: No such file"):
        contents(path, members)


@pytest.mark.parametrize("data", [b"", b"<html>not found</html>", b"PK\x03\x04", bytes(100_000)])
def test_what_is_not_a_zip_is_rejected(tmp_path, data):
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    assert "not a zip file" in refused(path)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_archive_is_rejected_or_gives_the_right_bytes(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "damaged.zip"
    write(path, ("b", b"abc" * 20), ("c/d", b"x"))
    whole = bytearray(path.read_bytes())
    start = len(whole) - 250 if data.draw(st.booleans()) else 0  # often the directory
    at = data.draw(st.integers(max(start, 0), len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    path.write_bytes(whole)
    right = {GOOD, b"abc" * 20, b"x"}
    try:
        assert set(contents(path).values()) <= right
    except BadInputError as error:
        assert str(path) in str(error)
