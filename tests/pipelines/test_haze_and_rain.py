"""Haze and rain: made from frames, or ready-made in the layouts of RESIDE and of Rain13K."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from kedro.io import DatasetError
from PIL import Image as PillowImage

from idemnet.errors import BadInputError
from idemnet.imaging.haze import make_hazy
from idemnet.media.image_files import write_image
from idemnet.parameters.crop import CropParameters
from idemnet.parameters.source import SourceParameters
from idemnet.parameters.synthesize import HazeParameters, RainParameters
from idemnet.pipelines.crop import hold_out
from idemnet.pipelines.download import download
from idemnet.tasks.dehaze import synthesize_haze
from idemnet.tasks.derain import synthesize_rain

from .test_synthesize import image, load_raw, pairs_dataset

PICTURE = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)


def frames_with_depth(folder: Path, frames: int = 3) -> Path:
    for split, sequence in (("train", "a b"), ("test", "c")):
        for frame in range(frames):
            write_image(folder, f"{split}/{sequence}/{frame:03d}.png", PICTURE // (frame + 1))
        slope = np.linspace(0, 65535, 24 * 32).reshape(24, 32).astype(np.uint16)
        write_image(folder, f"depth/{split}/{sequence}.png", slope)
    return folder


def from_frames(tmp_path: Path, folder: Path):
    return load_raw(tmp_path, kind="folder", layout="frames", folder={"path": str(folder)})


def from_reside(tmp_path: Path, folder: Path, **more):
    return load_raw(tmp_path, kind="folder", layout="reside", folder={"path": str(folder)}, **more)


def from_flat(tmp_path: Path, folder: Path):
    return load_raw(tmp_path, kind="folder", layout="flat", folder={"path": str(folder)})


def published(tmp_path: Path, recipe):
    dataset = pairs_dataset(tmp_path)
    dataset.save(recipe)
    return dataset.load().pairs


def test_the_middle_frame_gets_haze_of_every_level_by_its_depth(tmp_path):
    raw = from_frames(tmp_path, frames_with_depth(tmp_path / "set"))
    pairs = published(tmp_path, synthesize_haze(raw, HazeParameters(levels=3)))
    assert [(p.split, p.sequence, p.frame, p.level) for p in pairs] == [
        ("test", "c", "001", 1), ("test", "c", "001", 2), ("test", "c", "001", 3),
        ("train", "a b", "001", 1), ("train", "a b", "001", 2), ("train", "a b", "001", 3),
    ]  # fmt: skip
    for pair in pairs:
        assert (pair.clean() == PICTURE // 2).all()
        hazy = pair.degraded().astype(int)
        assert (hazy[0, 0] == pair.clean()[0, 0]).all()  # depth 0
        assert (hazy[-1] - pair.clean()[-1]).mean() > 30  # far away
    assert len({pair.degraded.name for pair in pairs}) == 6


def test_each_level_has_its_own_part_of_the_densities(tmp_path):
    """Between the haze of the part's ends, by the brightness of one dark picture."""
    folder = tmp_path / "set"
    write_image(folder, "train/dark/0.png", image(0))
    write_image(folder, "depth/train/dark.png", np.full((8, 8), 65535, np.uint16))
    haze = HazeParameters(levels=4, airlight=(1.0, 1.0))
    pairs = published(tmp_path, synthesize_haze(from_frames(tmp_path, folder), haze))
    far = np.ones((8, 8), np.float32)
    for pair in pairs:
        ends = [
            make_hazy(image(0), far, haze, strength, np.random.default_rng(0))[0, 0, 0]
            for strength in ((pair.level - 1) / 4, pair.level / 4)
        ]
        assert ends[0] <= pair.degraded()[0, 0, 0] <= ends[1]


def test_haze_without_depth_is_rejected_by_name(tmp_path):
    folder = frames_with_depth(tmp_path / "set")
    (folder / "depth/train/a b.png").unlink()
    with pytest.raises(DatasetError, match=r"the first missing one is depth/train/a b\.png"):
        published(tmp_path, synthesize_haze(from_frames(tmp_path, folder), HazeParameters()))


def test_depth_of_another_size_is_rejected(tmp_path):
    folder = frames_with_depth(tmp_path / "set")
    write_image(folder, "depth/train/a b.png", np.zeros((5, 6), np.uint16))
    with pytest.raises(DatasetError, match="depth map of 6x5 pixels does not fit"):
        published(tmp_path, synthesize_haze(from_frames(tmp_path, folder), HazeParameters()))


def test_depth_maps_of_8_and_16_bits_say_the_same_and_colours_are_rejected(tmp_path):
    folder = frames_with_depth(tmp_path / "set")
    write_image(folder, "depth/test/c.png", np.full((24, 32), 51, np.uint8))
    write_image(folder, "depth/train/a b.png", np.full((24, 32), 51 * 257, np.uint16))
    depths = from_frames(tmp_path, folder).depths
    for depth in depths.values():
        assert depth().dtype == np.float32
        assert depth() == pytest.approx(0.2)
    write_image(folder, "depth/test/c.png", PICTURE)
    with pytest.raises(BadInputError, match="a depth map must be grey"):
        from_frames(tmp_path, folder).depths["test", "c"]()


def test_rain_falls_on_frames_a_stride_apart(tmp_path):
    raw = from_frames(tmp_path, frames_with_depth(tmp_path / "set", frames=7))
    pairs = published(tmp_path, synthesize_rain(raw, RainParameters(levels=2, stride=3)))
    assert [(p.frame, p.level) for p in pairs if p.split == "train"] == [
        ("001", 1), ("001", 2), ("004", 1), ("004", 2),
    ]  # fmt: skip
    for pair in pairs:
        assert (pair.clean() == PICTURE // (int(pair.frame) + 1)).all()
        assert (pair.degraded() >= pair.clean()).all()
        assert (pair.degraded() > pair.clean()).any()


@pytest.mark.parametrize("stride", [1, 11])
def test_one_frame_is_enough(tmp_path, stride):
    raw = from_frames(tmp_path, frames_with_depth(tmp_path / "set", frames=1))
    pairs = published(tmp_path, synthesize_rain(raw, RainParameters(levels=1, stride=stride)))
    assert [pair.frame for pair in pairs] == ["000", "000"]


def test_seeds_and_levels_differ_and_repetition_does_not(tmp_path):
    raw = from_frames(tmp_path, frames_with_depth(tmp_path / "set"))

    def rainy(**settings):
        plan = synthesize_rain(raw, RainParameters(levels=2, **settings)).plan()
        return {name: made for job in plan.jobs for name, made in job.make(job.names)}

    one, same, other = rainy(), rainy(), rainy(seed=1)
    name, next_level = "train/a b/rainy_01/001.png", "train/a b/rainy_02/001.png"
    assert all((one[name] == same[name]).all() for name in one)
    assert (one[name] != other[name]).any() and (one[name] != one[next_level]).any()
    assert (one[name] != one["test/c/rainy_01/001.png"]).any()


def test_what_is_not_wanted_is_not_made(tmp_path):
    raw = from_frames(tmp_path, frames_with_depth(tmp_path / "set"))
    job, *_ = synthesize_haze(raw, HazeParameters(levels=3)).plan().jobs
    whole = dict(job.make(job.names))
    assert list(whole) == list(job.names)
    [[name, rest]] = job.make(job.names[2:3])
    assert name == job.names[2] and (rest == whole[name]).all()


def reside_like(folder: Path, border: int = 10) -> Path:
    """ITS and SOTS in small: two hazy images of each clear one, which is larger all around."""
    for split, number, names in (
        ("train", "1", ("1_1_0.90179", "1_2_0.97842")),
        ("train", "12", ("12_1_0.74031", "12_2_0.8")),
        ("test", "1400", ("1400_1", "1400_10")),
    ):
        clear = np.zeros((24 + 2 * border, 32 + 2 * border, 3), np.uint8)
        clear[border : border + 24, border : border + 32] = PICTURE
        write_image(folder, f"{split}/clear/{number}.png", clear)
        for name in names:
            write_image(folder, f"{split}/hazy/{name}.png", PICTURE)
    return folder


@pytest.mark.parametrize("border", [10, 0])
def test_reside_has_many_hazy_images_of_each_clear_one_which_is_cropped(tmp_path, border):
    folder = reside_like(tmp_path / "RESIDE", border)
    expected = {"train_sequences": 2, "train_images": 4, "test_sequences": 1, "test_images": 2}
    size = {"height": 24, "width": 32}
    raw = from_reside(tmp_path, folder, expected={**expected, **size})
    pairs = published(tmp_path, synthesize_haze(raw, HazeParameters()))
    assert [(p.split, p.sequence, p.frame, p.level) for p in pairs] == [
        ("test", "1400", "1400_1", 0), ("test", "1400", "1400_10", 0),
        ("train", "1", "1_1_0.90179", 0), ("train", "1", "1_2_0.97842", 0),
        ("train", "12", "12_1_0.74031", 0), ("train", "12", "12_2_0.8", 0),
    ]  # fmt: skip
    for pair in pairs:
        assert (pair.height, pair.width) == pair.clean.size() == pair.degraded.size() == (24, 32)
        assert (pair.clean() == PICTURE).all()
    assert not any((tmp_path / "data").rglob("*.png"))
    assert hold_out(pairs, CropParameters()) < {"1", "12"}


@pytest.mark.parametrize("border", [9, 11])
def test_a_clear_image_of_any_other_size_is_rejected(tmp_path, border):
    raw = from_reside(tmp_path, reside_like(tmp_path / "RESIDE", border))
    size = f"{32 + 2 * border}x{24 + 2 * border}"
    with pytest.raises(DatasetError, match=rf"6 pairs do not fit: .* is 32x24, its partner {size}"):
        published(tmp_path, synthesize_haze(raw, HazeParameters()))


def test_hazy_and_clear_images_that_are_alone_are_named(tmp_path):
    folder = reside_like(tmp_path / "RESIDE")
    (folder / "train/clear/1.png").unlink()
    for path in (folder / "test/hazy").iterdir():
        path.unlink()
    with pytest.raises(DatasetError) as error:
        published(tmp_path, synthesize_haze(from_reside(tmp_path, folder), HazeParameters()))
    assert "3 pairs do not fit" in str(error.value)
    for name in ("train/hazy/1_1_0.90179.png", "train/hazy/1_2_0.97842.png", "test/clear/1400.png"):
        assert f"{name} has no partner" in str(error.value)


def test_an_archive_of_reside_is_unpacked_and_paired(tmp_path):
    folder = reside_like(tmp_path / "RESIDE")
    archive = tmp_path / "reside.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.rglob("*.png")):
            file.write(path, f"RESIDE/{path.relative_to(folder).as_posix()}")
    raw = load_raw(tmp_path, kind="archive", layout="reside", archive={"addresses": [str(archive)]})
    pairs = published(tmp_path, synthesize_haze(raw, HazeParameters()))
    assert len(pairs) == 6 and all((pair.clean() == PICTURE).all() for pair in pairs)


def test_data_sets_that_lie_apart_are_linked_under_one_folder(tmp_path):
    apart = reside_like(tmp_path / "apart")
    (tmp_path / "together").mkdir()
    (tmp_path / "together/train").symlink_to(apart / "train")
    shutil.move(apart / "test", tmp_path / "SOTS")
    (tmp_path / "together/test").symlink_to(tmp_path / "SOTS")
    (tmp_path / "SOTS/back").symlink_to(tmp_path)  # leads back up, and is not followed for ever
    (tmp_path / "SOTS/here").symlink_to(tmp_path / "SOTS")
    pairs = published(
        tmp_path, synthesize_haze(from_reside(tmp_path, tmp_path / "together"), HazeParameters())
    )
    assert [pair.split for pair in pairs] == ["test"] * 2 + ["train"] * 4


def rain_like(folder: Path) -> Path:
    """Rain13K and its test sets in small; jpg beside png, as in Rain13K."""
    for place, numbers in (
        ("train/Rain13K", ("1", "2")),
        ("test/Rain100H", ("1", "norain-2x2_3")),
        ("test/Rain100L", ("1",)),
    ):
        for number in numbers:
            write_image(folder, f"{place}/target/{number}.png", PICTURE)
            (folder / place / "input").mkdir(exist_ok=True)
            PillowImage.fromarray(PICTURE).save(folder / place / f"input/{number}.jpg")
    return folder


def test_rain_sets_are_told_apart_and_paired_by_stem(tmp_path):
    raw = from_flat(tmp_path, rain_like(tmp_path / "Datasets"))
    pairs = published(tmp_path, synthesize_rain(raw, RainParameters()))
    assert [(p.split, p.sequence, p.frame, p.level) for p in pairs] == [
        ("test", "Rain100H", "1", 0), ("test", "Rain100H", "norain-2x2_3", 0),
        ("test", "Rain100L", "1", 0),
        ("train", "Rain13K/1", "1", 0), ("train", "Rain13K/2", "2", 0),
    ]  # fmt: skip
    assert pairs[0].degraded.name == "test/Rain100H/input/1.jpg"
    assert pairs[0].clean.name == "test/Rain100H/target/1.png"
    assert len(hold_out(pairs, CropParameters(validation_fraction=0.5))) == 1


def test_two_images_of_one_stem_are_rejected(tmp_path):
    folder = rain_like(tmp_path / "Datasets")
    write_image(folder, "train/Rain13K/input/2.png", PICTURE)
    message = "train/Rain13K/input/2.png has the same name as train/Rain13K/input/2.jpg"
    with pytest.raises(DatasetError, match=message):
        published(tmp_path, synthesize_rain(from_flat(tmp_path, folder), RainParameters()))


def test_a_source_that_does_not_say_where_is_rejected_when_it_is_needed():
    for kind, key in (("folder", "folder.path"), ("archive", "archive.addresses")):
        with pytest.raises(BadInputError, match=f"source.{key} must say where the data is"):
            download(SourceParameters(kind=kind))


def mean_psnr(pairs) -> float:
    errors = [pair.degraded().astype(float) - pair.clean() for pair in pairs]
    return float(np.mean([10 * np.log10(255**2 / np.mean(error**2)) for error in errors]))


def test_real_sots_pairs_pass_through(tmp_path, real):
    (tmp_path / "RESIDE").mkdir()
    (tmp_path / "RESIDE/test").symlink_to(real / "sots_indoor")
    raw = from_reside(tmp_path, tmp_path / "RESIDE", expected={"test_images": 4, "height": 460})
    pairs = published(tmp_path, synthesize_haze(raw, HazeParameters()))
    assert [(p.sequence, p.frame) for p in pairs] == [
        ("1400", "1400_5"), ("1413", "1413_5"), ("1426", "1426_5"), ("1440", "1440_5"),
    ]  # fmt: skip
    assert mean_psnr(pairs) == pytest.approx(10.11, abs=0.01)


def test_real_rain_pairs_pass_through(tmp_path, real):
    (tmp_path / "Rain/test").mkdir(parents=True)
    for name, folder in (("Rain100H", "rain100h"), ("Rain100L", "rain100l")):
        (tmp_path / "Rain/test" / name).symlink_to(real / folder)
    pairs = published(
        tmp_path, synthesize_rain(from_flat(tmp_path, tmp_path / "Rain"), RainParameters())
    )
    heavy = [pair for pair in pairs if pair.sequence == "Rain100H"]
    light = [pair for pair in pairs if pair.sequence == "Rain100L"]
    assert len(heavy) == len(light) == 4 and len(pairs) == 8
    assert mean_psnr(heavy) == pytest.approx(12.02, abs=0.01)
    assert mean_psnr(light) == pytest.approx(24.87, abs=0.01)


def test_our_rain_is_as_heavy_as_real_rain(tmp_path, real):
    """From about Rain100L's lightest to Rain100H's heaviest, on the same pictures."""
    for number, path in enumerate(sorted((real / "rain100l/target").iterdir())):
        (tmp_path / f"set/train/{number}").mkdir(parents=True)
        shutil.copy(path, tmp_path / f"set/train/{number}")
    raw = from_frames(tmp_path, tmp_path / "set")
    pairs = published(tmp_path, synthesize_rain(raw, RainParameters()))
    levels = [mean_psnr([p for p in pairs if p.level == level]) for level in range(1, 6)]
    assert 21 < levels[0] < 29 and 9 < levels[4] < 13.5
    assert levels == sorted(levels, reverse=True)
