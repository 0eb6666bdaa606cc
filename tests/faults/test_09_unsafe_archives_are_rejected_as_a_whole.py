"""An archive with one unsafe name or type is rejected as a whole, before anything is written."""

import stat
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idemnet.errors import BadInputError

from ..fetch.archives import check, raw_name, refused, write


def special(mode):
    info = zipfile.ZipInfo("link")
    info.external_attr = mode << 16
    return info, b"/etc/passwd"


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
def test_unsafe_name_rejects_the_whole_archive(tmp_path, name, why):
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
def test_names_that_are_one_place_reject_the_whole_archive(tmp_path, names):
    message = refused(write(tmp_path / "a.zip", *map(raw_name, names)))
    assert "same file" in message or "is a file and the folder of" in message


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_special_files_reject_the_whole_archive(tmp_path, mode):
    message = refused(write(tmp_path / "a.zip", special(mode | 0o777)))
    assert "member 'link': it is a link or another special file" in message


def test_folder_that_is_named_like_a_file_is_rejected(tmp_path):
    assert "special" in refused(write(tmp_path / "a.zip", special(stat.S_IFDIR | 0o755)))


def test_name_that_is_no_text_is_rejected(tmp_path):
    path = write(tmp_path / "a.zip", "\u00fc.png")
    path.write_bytes(path.read_bytes().replace("\u00fc.png".encode(), b"\xff\xfe.png"))
    assert "can't decode" in refused(path)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text("ab./\\:\0 C\u0308\u00fc~\n", max_size=8), min_size=1, max_size=4))
def test_no_name_escapes_the_folder(tmp_path_factory, names):
    folder = tmp_path_factory.getbasetemp() / "names"
    folder.mkdir(exist_ok=True)
    path = write(folder / "a.zip", *map(raw_name, names))
    try:
        members = check(path)
    except BadInputError:
        return
    inside = (folder / "in").resolve()
    places = [(inside / name).resolve() for name in members]
    assert all(place.is_relative_to(inside) and place != inside for place in places)
    assert len({str(place).casefold() for place in places}) == len(places)
