"""What somebody names is found, results of earlier runs are not, and each result has a place."""

import json

import pytest
from click.testing import CliRunner

from idemnet.commands.restore import restore
from idemnet.errors import BadInputError
from idemnet.inference.results import LIST, list_results
from idemnet.inference.targets import describe, plan_targets


@pytest.fixture
def album(tmp_path, monkeypatch):
    """A folder of names; nothing in it is read."""
    folder = tmp_path / "album"
    (folder / "sub").mkdir(parents=True)
    for name in ("a.jpg", "b.gif", "c.HEIC", "sub/d.avif", "sub/clip.mp4"):
        (folder / name).touch()
    monkeypatch.chdir(tmp_path)
    return folder


def planned(*inputs, output=None):
    return {
        str(one.source): str(one.target) for one in plan_targets([*map(str, inputs)], output).todo
    }


def test_a_folder_becomes_another_one_beside_it(album):
    names = {"a.jpg": "a.jpg", "b.gif": "b.png", "c.HEIC": "c.HEIC", "sub/d.avif": "sub/d.avif",
             "sub/clip.mp4": "sub/clip.mp4"}  # fmt: skip
    assert planned("album") == {f"album/{a}": f"album_restored/{b}" for a, b in names.items()}


@pytest.mark.parametrize(("here", "name"), [("", "."), ("sub", ".."), ("sub", "../../album/.")])
def test_so_does_the_folder_one_is_in_and_the_one_above(album, monkeypatch, here, name):
    monkeypatch.chdir(album / here)
    targets = planned(name).values()
    assert len(targets) == 5
    for target in targets:
        assert (album / here / target).resolve().is_relative_to(f"{album}_restored")


def test_a_link_keeps_its_name(album, tmp_path):
    (tmp_path / "link").symlink_to(album)
    assert planned("link")["link/a.jpg"] == "link_restored/a.jpg"


def test_results_beside_their_sources_are_no_inputs(album):
    for name in ("a_restored.jpg", "b_restored.png", "c_restored.HEIC", "a_restored_restored.jpg"):
        (album / name).touch()
    for folder in ("a_restored_explained", "a_explained"):
        (album / folder).mkdir()
        (album / folder / "explanation.json").touch()
        (album / folder / "iteration_0.png").touch()
    found = plan_targets(["album"], None)
    assert {one.source.name for one in found.todo} == {
        "a.jpg", "b.gif", "c.HEIC", "d.avif", "clip.mp4",
    }  # fmt: skip
    assert describe(found.skipped) == "6 results of earlier runs, 2 .json"
    assert set(planned(*album.glob("*.jpg"))) == {str(album / "a.jpg")}  # as a shell expands it
    assert set(planned("album/*.jpg")) == {"album/a.jpg"}


def test_results_in_folders_beside_their_sources_are_no_inputs(album, tmp_path):
    for name in ("album_restored/a.jpg", "album_restored/b.png", "album_restored/sub/d.avif"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = plan_targets(["."], None)
    assert len(found.todo) == 5
    assert describe(found.skipped) == "3 results of earlier runs"
    with pytest.raises(BadInputError, match="nothing to restore, only 3 results of earlier runs"):
        plan_targets(["album_restored"], None)


def test_results_in_a_folder_that_was_chosen_are_no_inputs(album, tmp_path):
    first = plan_targets(["album"], album / "mended")
    list_results(album / "mended", [one.target for one in first.todo])
    for one in first.todo:
        one.target.parent.mkdir(parents=True, exist_ok=True)
        one.target.touch()
    (album / "mended/new.jpg").touch()  # a picture of one's own
    for output in (None, tmp_path / "elsewhere"):
        found = plan_targets(["album"], output)
        sources = {str(one.source.relative_to("album")) for one in found.todo}
        assert sources == {
            "a.jpg", "b.gif", "c.HEIC", "sub/d.avif", "sub/clip.mp4", "mended/new.jpg",
        }  # fmt: skip
        assert describe(found.skipped) == "5 results of earlier runs"
    again = plan_targets(["album"], album / "mended")
    assert {one.target for one in again.todo} == {one.target for one in first.todo}


def test_a_result_that_was_given_a_name_is_no_input(album):
    one = plan_targets(["album/a.jpg"], album / 'odd "name"\n.jpg').todo[0]
    list_results(one.listed_in, [one.target])
    one.target.touch()
    assert set(planned("album/*.jpg")) == {"album/a.jpg"}
    lines = (album / LIST).read_text().splitlines()
    assert [json.loads(line) for line in lines] == ['odd "name"\n.jpg']


def test_pictures_that_are_only_called_like_results_are_inputs(album):
    for name in ("holiday_restored.jpg", "a_restored.png", "_restored.jpg"):
        (album / name).touch()
    (album / "house_restored").mkdir()
    (album / "house_restored/kitchen.jpg").touch()
    (album / "sub_restored").mkdir()
    (album / "sub_restored/other.jpg").touch()
    (album / "talk_explained").mkdir()
    (album / "talk_explained/slide.png").touch()
    found = plan_targets(["album"], None)
    assert len(found.todo) == 5 + 6
    assert not found.skipped


def test_a_result_alone_is_not_restored_again(album):
    (album / "a_restored.jpg").touch()
    with pytest.raises(BadInputError) as said:
        plan_targets(["album/a_restored.jpg"], None)
    assert str(said.value) == (
        "album/a_restored.jpg: nothing to restore, only 1 result of earlier runs "
        "(to restore a result again, copy it under another name)"
    )


def test_what_is_not_restored_is_counted_by_kind(album):
    for name in ("x.CR2", "y.cr2", "sub/z.dng", "notes", ".hidden.txt", ".git/a.png"):
        (album / name).parent.mkdir(exist_ok=True)
        (album / name).touch()
    assert describe(plan_targets(["album"], None).skipped) == "2 .cr2, 1 without suffix, 1 .dng"


def test_of_a_folder_with_nothing_to_restore_the_error_counts_the_kinds(album):
    for name in ("raws/x.CR2", "raws/y.cr2", "raws/z.dng"):
        (album.parent / name).parent.mkdir(exist_ok=True)
        (album.parent / name).touch()
    with pytest.raises(BadInputError) as said:
        plan_targets(["raws"], None)
    assert str(said.value) == "raws: nothing to restore, only 2 .cr2, 1 .dng"
    found = plan_targets(["raws", "album/a.jpg"], None)
    assert [str(one.source) for one in found.todo] == ["album/a.jpg"]
    assert describe(found.skipped) == "2 .cr2, 1 .dng"
    (album / "a_restored.jpg").touch()  # so that nothing is left to restore
    output = CliRunner().invoke(restore, ["raws", "album/a.jpg"]).output
    assert output == (
        "raws: contains no pictures or videos\n"
        "skipped 2 .cr2, 1 .dng, 1 existing result (use --force)\n"
    )


def test_a_gif_beside_a_png_of_its_name_takes_no_others_place(album):
    (album / "b.png").touch()
    found = planned("album")
    assert found["album/b.gif"] == "album_restored/b.gif.png"
    assert found["album/b.png"] == "album_restored/b.png"
    beside = planned("album/b.gif", "album/b.png")
    assert beside["album/b.gif"] == "album/b.gif_restored.png"
    for target in beside.values():
        (album.parent / target).touch()
    assert set(planned("album/b*")) == {"album/b.gif", "album/b.png"}


@pytest.mark.parametrize(
    ("inputs", "output", "said"),
    [
        (["album"], "album", "album: is the input folder, and inputs are never overwritten"),
        (["album/b.gif"], "c.gif", r"c\.gif: \.gif can be read but not written, use \.png"),
        (["/"], None, "/: use --output to choose a folder for the results"),
        (["empty"], None, "empty: contains no pictures or videos"),
    ],
)
def test_what_cannot_be_done_is_reported(album, inputs, output, said):
    (album.parent / "empty").mkdir()
    with pytest.raises(BadInputError, match=said):
        plan_targets(inputs, output and album.parent / output)
