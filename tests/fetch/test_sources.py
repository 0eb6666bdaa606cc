"""Raw data from archives, folders and videos: found, checked, and used in place where it lies."""

import hashlib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from kedro.io import DatasetError
from PIL import Image as PillowImage

from idemnet.datasets.raw import RawDataset
from idemnet.errors import BadInputError
from idemnet.fetch.sources import list_photographs
from idemnet.media.image_files import write_image
from idemnet.parameters.source import SourceParameters
from idemnet.pipelines.download import _on_the_hub, download
from idemnet.storage.manifest import read_manifest

from ..media.test_frames import write_video
from .http_server import Server, says, whole


def make_frames(folder: Path, height: int = 8) -> Path:
    for number, name in enumerate(["train/b #1", "train/ä ö", "test/c"]):
        for frame in range(3):
            image = np.full((height, 10, 3), 40 * number + frame, np.uint8)
            write_image(folder, f"{name}/{frame:06d}.png", image)
    return folder


def zipped(folder: Path, path: Path, prefix: str = "") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{prefix}readme.txt", "hello")
        for file in sorted(folder.rglob("*.png")):
            archive.write(file, prefix + file.relative_to(folder).as_posix())
    return path


def source(**groups) -> SourceParameters:
    return SourceParameters.model_validate(groups)


def raw_dataset(tmp_path: Path) -> RawDataset:
    return RawDataset(str(tmp_path / "raw" / "set"))


EXPECTED = {
    "train_sequences": 2, "test_sequences": 1, "train_images": 6, "height": 8, "width": 10,
}  # fmt: skip


def check_is_the_set(raw: RawDataset) -> None:
    sequences = raw.load().sequences
    assert [(one.split, one.name) for one in sequences] == [
        ("test", "c"), ("train", "b #1"), ("train", "ä ö"),
    ]  # fmt: skip
    assert [int(frame[0, 0, 0]) for frame in sequences[1].read(0, 3)] == [0, 1, 2]
    assert [int(frame[0, 0, 0]) for frame in sequences[0].read(1, 3)] == [81, 82]


def test_a_folder_is_used_in_place_without_copying(tmp_path):
    folder = make_frames(tmp_path / "my frames")
    raw = raw_dataset(tmp_path)
    parameters = source(kind="folder", folder={"path": str(folder)}, expected=EXPECTED)
    raw.save(download(parameters))
    check_is_the_set(raw)
    assert [path.name for path in (tmp_path / "raw" / "set").iterdir()] == ["manifest.json"]


def test_a_changed_folder_has_another_fingerprint(tmp_path):
    folder = make_frames(tmp_path / "frames")
    parameters = source(kind="folder", folder={"path": str(folder)})
    first = download(parameters).fingerprint
    assert download(parameters).fingerprint == first
    write_image(folder, "test/c/000003.png", np.zeros((8, 10, 3), np.uint8))
    assert download(parameters).fingerprint != first


@pytest.mark.parametrize("prefix", ["", "GOPRO_Large_all/"])
def test_a_local_zip_is_unpacked_whole(tmp_path, prefix):
    archive = zipped(make_frames(tmp_path / "frames"), tmp_path / "a.zip", prefix)
    raw = raw_dataset(tmp_path)
    parameters = source(kind="archive", archive={"addresses": [str(archive)]}, expected=EXPECTED)
    raw.save(download(parameters))
    check_is_the_set(raw)
    manifest = read_manifest(tmp_path / "raw" / "set")
    assert all(sha256 is not None for _, sha256 in manifest.files.values())


def test_the_structure_is_verified_and_the_error_says_what_is_missing(tmp_path):
    folder = make_frames(tmp_path / "frames")
    wrong = {"train_sequences": 22, "test_sequences": 11, "test_images": 1111}
    in_folder = source(kind="folder", folder={"path": str(folder)}, expected=wrong)
    archive = zipped(folder, tmp_path / "a.zip")
    in_zip = source(kind="archive", archive={"addresses": [str(archive)]}, expected=wrong)
    message = (
        "train has 2 sequences instead of 22, test has 1 sequences instead of 11, "
        "test has 3 images instead of 1111"
    )
    for recipe in (download(in_folder), download(in_zip)):
        with pytest.raises(DatasetError, match=message):
            raw_dataset(tmp_path).save(recipe)
    assert not (tmp_path / "raw" / "set").exists()


def test_images_of_another_size_are_rejected_before_anything_is_unpacked(tmp_path):
    folder = make_frames(tmp_path / "frames")
    archive = zipped(folder, tmp_path / "a.zip")
    size = {"height": 720, "width": 1280}
    for recipe in (
        download(source(kind="folder", folder={"path": str(folder)}, expected=size)),
        download(source(kind="archive", archive={"addresses": [str(archive)]}, expected=size)),
    ):
        with pytest.raises(DatasetError, match=r"c/00000\d\.png: is 10x8 instead of 1280x720"):
            raw_dataset(tmp_path).save(recipe)
    assert not any((tmp_path / "raw").rglob("*.png"))


def test_pairs_read_as_frames_are_rejected_with_a_hint(tmp_path):
    write_image(tmp_path / "p", "train/GOPR0372_07_00/blur/1.png", np.zeros((8, 8, 3), np.uint8))
    parameters = source(kind="folder", folder={"path": str(tmp_path / "p")})
    with pytest.raises(
        DatasetError, match=r"the first of 1 images is train/GOPR0372_07_00/blur/1\.png"
    ):
        raw_dataset(tmp_path).save(download(parameters))


def test_each_video_is_a_sequence_used_in_place(tmp_path):
    folder = tmp_path / "videos"
    (folder / "test").mkdir(parents=True)
    write_video(folder / "my hand #1.mp4", count=6)
    write_video(folder / "test" / "b.MOV", count=4)
    raw = raw_dataset(tmp_path)
    raw.save(download(source(kind="videos", videos={"path": str(folder)})))
    found = {one.name: (one.split, len(one.frames)) for one in raw.load().sequences}
    assert found == {"my hand #1": ("train", 6), "b": ("test", 4)}
    assert [path.name for path in (tmp_path / "raw" / "set").iterdir()] == ["manifest.json"]


def test_videos_with_one_name_are_rejected(tmp_path):
    folder = tmp_path / "videos"
    folder.mkdir()
    write_video(folder / "a.mp4", count=2)
    write_video(folder / "a.mov", count=2)
    recipe = download(source(kind="videos", videos={"path": str(folder)}))
    with pytest.raises(DatasetError, match="two videos have the same name"):
        raw_dataset(tmp_path).save(recipe)


def test_an_archive_is_downloaded_checked_unpacked_and_not_fetched_again(tmp_path):
    data = zipped(make_frames(tmp_path / "frames"), tmp_path / "a.zip").read_bytes()
    raw = raw_dataset(tmp_path)
    with Server() as server:
        address = server.on("/sets/GOPRO%20tiny.zip", whole(data))
        missing = server.on("/gone.zip", says(404))
        archive = {"addresses": [missing, address], "folder": str(tmp_path / "archives")}
        parameters = source(kind="archive", archive=archive, expected=EXPECTED)
        raw.save(download(parameters))
        requests = len(server.seen)
        raw.save(download(parameters))
        assert len(server.seen) == requests == 2
    check_is_the_set(raw)
    recorded = (tmp_path / "archives" / "GOPRO_tiny.zip.sha256").read_text()
    assert hashlib.sha256(data).hexdigest() in recorded


def test_further_photographs_count_by_what_they_are_not_by_where(tmp_path):
    for name in ("here", "there"):
        path = tmp_path / name / "deep" / "a.png"
        path.parent.mkdir(parents=True)
        PillowImage.new("RGB", (4000, 30), (9, 99, 199)).save(path)
    here = list_photographs(str(tmp_path / "here"))
    [photograph] = here.photographs
    assert list_photographs(str(tmp_path / "there")).fingerprint == here.fingerprint
    assert photograph().shape == (8, 1000, 3)  # halved twice: cameras are not sharp to the pixel
    PillowImage.new("RGB", (40, 30), (9, 99, 198)).save(tmp_path / "there/deep/a.png")
    assert list_photographs(str(tmp_path / "there")).fingerprint != here.fingerprint
    assert list_photographs("") is None
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInputError, match="contains no photographs"):
        list_photographs(str(tmp_path / "empty"))


def test_licence_and_credit_are_recorded_but_decide_nothing(tmp_path):
    folder = {"path": str(make_frames(tmp_path / "frames"))}
    plain = download(source(kind="folder", folder=folder))
    known = download(source(kind="folder", folder=folder, licence="CC BY 4.0", credit="Nah"))
    assert known.fingerprint == plain.fingerprint
    assert known.plan().about == plain.plan().about | {"licence": "CC BY 4.0", "credit": "Nah"}
    address = {"addresses": ["elsewhere.zip", "hf://datasets/owner/name/x.zip@main"]}
    assert _on_the_hub(source(kind="archive", archive=address)) == "owner/name"
    assert _on_the_hub(source(kind="folder", archive=address)) == ""
