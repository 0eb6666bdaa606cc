"""Pairs: made from frames, or taken from a ready-made set after every one was looked at."""

from pathlib import Path

import numpy as np
import pytest

from idemnet.datasets.pairs import PairsDataset
from idemnet.datasets.raw import RawDataset
from idemnet.media.image_files import write_image
from idemnet.parameters.source import SourceParameters
from idemnet.parameters.synthesize import BlurParameters
from idemnet.pipelines.download import download
from idemnet.tasks.deblur import synthesize_blur

from ..media.test_frames import write_video


def load_raw(tmp_path: Path, **groups):
    raw = RawDataset(str(tmp_path / "data" / "raw" / "set"))
    parameters = SourceParameters.model_validate(groups)
    raw.save(download(parameters))
    return raw.load()


def pairs_dataset(tmp_path: Path) -> PairsDataset:
    return PairsDataset(str(tmp_path / "data" / "pairs" / "set"))


def image(value: int, height: int = 8, width: int = 8) -> np.ndarray:
    return np.full((height, width, 3), value, np.uint8)


def gopro_like(folder: Path) -> Path:
    for split, sequence in (("train", "GOPR0372_07_00"), ("test", "GOPR0384_11_00")):
        for number in (1, 2):
            for role, value in (("blur", 1), ("blur_gamma", 2), ("sharp", 3)):
                write_image(folder, f"{split}/{sequence}/{role}/{number:06d}.png", image(value))
    return folder


@pytest.mark.parametrize(("response", "value"), [("linear", 1), ("gamma", 2)])
def test_gopro_pairs_pass_through_by_response_and_are_not_copied(tmp_path, response, value):
    folder = gopro_like(tmp_path / "GOPRO_Large")
    raw = load_raw(tmp_path, kind="folder", layout="gopro", folder={"path": str(folder)})
    dataset = pairs_dataset(tmp_path)
    dataset.save(synthesize_blur(raw, BlurParameters(response=response)))
    pairs = dataset.load().pairs
    assert [(p.split, p.sequence, p.frame, p.level) for p in pairs][:2] == [
        ("test", "GOPR0384_11_00", "000001", 11), ("test", "GOPR0384_11_00", "000002", 11),
    ]  # fmt: skip
    assert {int(pair.degraded()[0, 0, 0]) for pair in pairs} == {value}
    assert {int(pair.clean()[0, 0, 0]) for pair in pairs} == {3}
    assert not any((tmp_path / "data").rglob("*.png"))


def test_flat_folders_are_paired_by_stem(tmp_path):
    write_image(tmp_path / "rain", "input/7.png", image(5, 6, 9))
    write_image(tmp_path / "rain", "target/7.png", image(6, 6, 9))
    raw = load_raw(tmp_path, kind="folder", layout="flat", folder={"path": str(tmp_path / "rain")})
    dataset = pairs_dataset(tmp_path)
    dataset.save(synthesize_blur(raw, BlurParameters()))
    [pair] = dataset.load().pairs
    assert (pair.split, pair.height, pair.width, pair.level) == ("train", 6, 9, 0)


def test_a_real_gopro_pair_passes_through(tmp_path, real):
    raw = load_raw(
        tmp_path, kind="folder", layout="gopro", folder={"path": str(real / "gopro_pairs")},
        expected={"test_sequences": 1, "test_images": 1, "height": 720, "width": 1280},
    )  # fmt: skip
    dataset = pairs_dataset(tmp_path)
    dataset.save(synthesize_blur(raw, BlurParameters()))
    [pair] = dataset.load().pairs
    error = pair.degraded().astype(float) - pair.clean()
    assert 10 * np.log10(255**2 / np.mean(error**2)) == pytest.approx(24.05, abs=1e-3)


def test_real_frames_are_blurred_around_their_centres(tmp_path, real):
    raw = load_raw(tmp_path, kind="folder", folder={"path": str(real / "gopro_frames")})
    dataset = pairs_dataset(tmp_path)
    dataset.save(synthesize_blur(raw, BlurParameters()))
    pairs = dataset.load().pairs
    assert [pair.level for pair in pairs] == [5, 7, 9, 11, 13, 15]
    frames = list(raw.sequences[0].read(0, 25))
    middle = raw.sequences[0].frames.index(pairs[0].frame)
    for pair in pairs:
        window = np.stack(frames[middle - pair.level // 2 : middle + pair.level // 2 + 1])
        assert (pair.degraded() == np.rint(window.mean(axis=0))).all()
        assert (pair.clean() == frames[middle]).all()


def test_a_video_becomes_pairs(tmp_path):
    (tmp_path / "videos").mkdir()
    write_video(tmp_path / "videos" / "walk & run.mp4", count=20)
    raw = load_raw(tmp_path, kind="videos", videos={"path": str(tmp_path / "videos")})
    dataset = pairs_dataset(tmp_path)
    dataset.save(synthesize_blur(raw, BlurParameters(levels=(3, 5), stride=6)))
    pairs = dataset.load().pairs
    assert [(pair.frame, pair.level) for pair in pairs] == [
        ("000003", 3), ("000003", 5), ("000009", 3), ("000009", 5), ("000015", 3), ("000015", 5),
    ]  # fmt: skip
    assert pairs[1].degraded().mean() == pytest.approx(pairs[1].clean().mean(), abs=2)


def test_the_same_parameters_and_inputs_have_the_same_fingerprint(tmp_path):
    folder = gopro_like(tmp_path / "set")
    raw = load_raw(tmp_path, kind="folder", layout="gopro", folder={"path": str(folder)})
    one, same = (synthesize_blur(raw, BlurParameters()) for _ in range(2))
    other = synthesize_blur(raw, BlurParameters(stride=7))
    assert one.fingerprint == same.fingerprint != other.fingerprint
