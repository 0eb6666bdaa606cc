"""Patches: every pair of them at its place in one array, split by sequence."""

import csv
import pickle
from pathlib import Path

import numpy as np
import pytest
from kedro.io import DatasetError

from idemnet.datasets.patches import PatchesDataset
from idemnet.errors import BadInputError
from idemnet.media.image_files import ImageFile, write_image
from idemnet.parameters.crop import CropParameters
from idemnet.pipelines.crop import crop, hold_out
from idemnet.steps.data import Pair, Pairs

SIZE, STRIDE = 16, 12


def make_pair(folder: Path, split: str, sequence: str, level: int, *, height: int = 40) -> Pair:
    files = []
    for name, seed in (("blurred", [level, len(sequence)]), ("sharp", [0, len(sequence)])):
        image = np.random.default_rng(seed).integers(0, 256, (height, 30, 3), np.uint8)
        path = f"{split}/{sequence}/{name}_{seed[0]}/1.png"
        size, sha256 = write_image(folder, path, image)
        files.append(ImageFile(folder / path, path, size, sha256))
    return Pair(split, sequence, "1", level, height, 30, *files)


@pytest.fixture
def pairs(tmp_path) -> list[Pair]:
    return [
        make_pair(tmp_path, split, sequence, level)
        for split, sequence in (
            ("train", "a, b"),
            ("train", 'ä "q"'),
            ("train", "c"),
            ("test", "d"),
        )
        for level in (5, 7)
    ]


def patches_dataset(tmp_path: Path) -> PatchesDataset:
    return PatchesDataset(str(tmp_path / "patches" / "set"))


def test_every_index_row_leads_to_the_patches_it_names(tmp_path, pairs):
    dataset = patches_dataset(tmp_path)
    dataset.save(crop(Pairs("f", pairs, "scenes"), CropParameters(size=SIZE, stride=STRIDE)))
    patches = dataset.load()
    by_identity = {(pair.sequence, pair.level): pair for pair in pairs}
    seen = 0
    for array in patches.splits.values():
        for number, row in enumerate(array.rows):
            pair = by_identity[row.sequence, row.level]
            window = np.s_[row.top + 2 : row.top + 10, row.left + 3 : row.left + 11]
            degraded, clean = array.read(number, 2, 3, 8)
            assert (degraded == pair.degraded()[window]).all()
            assert (clean == pair.clean()[window]).all()
            seen += 1
    assert seen == 3 * 2 * 3 * 3  # sequences, levels, rows and columns of patches
    assert {row.sequence for row in patches.splits["train"].rows}.isdisjoint(
        row.sequence for row in patches.splits["validation"].rows
    )


def test_test_sequences_are_not_cropped(tmp_path, pairs):
    dataset = patches_dataset(tmp_path)
    dataset.save(crop(Pairs("f", pairs, "scenes"), CropParameters(size=SIZE, stride=STRIDE)))
    splits = dataset.load().splits
    assert set(splits) == {"train", "validation"}
    assert "d" not in {row.sequence for array in splits.values() for row in array.rows}


def test_the_array_is_a_plain_npy_file_and_clean_patches_are_stored_once(tmp_path, pairs):
    dataset = patches_dataset(tmp_path)
    dataset.save(crop(Pairs("f", pairs, "scenes"), CropParameters(size=SIZE, stride=STRIDE)))
    array = np.load(tmp_path / "patches/set/train/patches.npy", mmap_mode="r")
    assert isinstance(array, np.memmap)
    assert array.shape == (2 * 9 * 3, SIZE, SIZE, 3)  # two sequences, nine places, clean + 2 levels
    with (tmp_path / "patches/set/train/index.csv").open(newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))
    assert header == ["sequence", "frame", "level", "top", "left", "degraded", "clean"]


def test_handles_travel_between_processes_without_their_bytes(tmp_path, pairs):
    dataset = patches_dataset(tmp_path)
    dataset.save(crop(Pairs("f", pairs, "scenes"), CropParameters(size=SIZE, stride=STRIDE)))
    train = dataset.load().splits["train"]
    expected = train.read(0, 0, 0, SIZE)  # maps the array
    packed = pickle.dumps(train)
    assert len(packed) < 10_000
    assert (pickle.loads(packed).read(0, 0, 0, SIZE)[0] == expected[0]).all()


def test_flat_patches_can_be_left_out(tmp_path):
    flat = make_pair(tmp_path, "train", "flat", 5)
    half = np.full((40, 30, 3), 100, np.uint8)
    half[:, 20:] = np.random.default_rng(0).integers(0, 256, (40, 10, 3))
    size, sha256 = write_image(tmp_path, flat.clean.name, half)
    flat = Pair("train", "flat", "1", 5, 40, 30, flat.degraded,
                ImageFile(tmp_path / flat.clean.name, flat.clean.name, size, sha256))  # fmt: skip
    dataset = patches_dataset(tmp_path)
    parameters = CropParameters(size=SIZE, stride=14, min_contrast=5, validation_fraction=0)
    dataset.save(crop(Pairs("f", [flat], "scenes"), parameters))
    assert {row.left for row in dataset.load().splits["train"].rows} == {14}


def test_nothing_but_flat_patches_is_rejected(tmp_path):
    pair = make_pair(tmp_path, "train", "a", 5)
    size, sha256 = write_image(tmp_path, pair.clean.name, np.zeros((40, 30, 3), np.uint8))
    clean = ImageFile(tmp_path / pair.clean.name, pair.clean.name, size, sha256)
    flat = Pair("train", "a", "1", 5, 40, 30, pair.degraded, clean)
    parameters = CropParameters(size=SIZE, stride=14, min_contrast=5, validation_fraction=0)
    with pytest.raises(DatasetError, match="min_contrast rejects every patch"):
        patches_dataset(tmp_path).save(crop(Pairs("f", [flat], "scenes"), parameters))


def test_an_image_smaller_than_a_patch_is_rejected_with_both_sizes(tmp_path, pairs):
    small = make_pair(tmp_path, "train", "small", 5, height=15)
    with pytest.raises(DatasetError, match=r"size = 16 .* but 1 are smaller, .*small.* \(30x15\)"):
        patches_dataset(tmp_path).save(
            crop(Pairs("f", [*pairs, small], "scenes"), CropParameters(size=SIZE, stride=STRIDE))
        )


def test_held_out_sequences_stay_the_same_when_others_join(pairs):
    held_out = hold_out(pairs, CropParameters(validation_fraction=0.34))
    assert len(held_out) == 1 and held_out < {"a, b", 'ä "q"', "c"}
    assert hold_out([*reversed(pairs)], CropParameters(validation_fraction=0.34)) == held_out


def test_named_sequences_are_held_out_and_unknown_ones_rejected(pairs):
    assert hold_out(pairs, CropParameters(validation_sequences=("c", "a, b"))) == {"c", "a, b"}
    with pytest.raises(BadInputError, match="not found among the 3 training sequences: d, x"):
        hold_out(pairs, CropParameters(validation_sequences=("x", "c", "d")))


def test_a_validation_split_of_its_own_is_kept(tmp_path, pairs):
    own = make_pair(tmp_path, "validation", "v", 5)
    assert hold_out([*pairs, own], CropParameters(validation_fraction=0.5)) == set()


def test_one_sequence_cannot_be_split(tmp_path):
    pair = make_pair(tmp_path, "train", "a", 5)
    with pytest.raises(BadInputError, match="set validation_fraction to 0"):
        hold_out([pair], CropParameters(validation_fraction=0.1))
