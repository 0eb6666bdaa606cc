"""Known bytes: whoever changes what a step computes must raise its VERSION, and these with it."""

import hashlib

import numpy as np
import pytest

from idemnet.data_parameters import HazeParameters, RainParameters, SceneParameters
from idemnet.datasets.images import write_image
from idemnet.datasets.photographs import PHOTOGRAPHS
from idemnet.imaging.blur import average_windows
from idemnet.imaging.crop import cut_patches, patch_grid
from idemnet.imaging.haze import make_hazy
from idemnet.imaging.rain import make_rainy
from idemnet.imaging.scenes import render_frames
from idemnet.pipelines import crop, download, synthesize
from idemnet.pipelines.synthesize import synthesize_rain

from .test_synthesize import load_raw

THUMBNAIL = [[83.1, 47.8, 38.8, 38.6], [50.6, 46.6, 40.8, 33.7], [16.5, 40.8, 29.9, 16.2]]
FRAMES = np.random.default_rng(0).integers(0, 256, (15, 40, 50, 3), np.uint8)
HAZY = [124.46, 146.57, 172.3, 190.66]
RAINY = [158.26, 156.7, 151.67, 153.52]
NAMED = [127.53, 129.28, 156.48]


def digest(*arrays: np.ndarray) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


def quarters(image: np.ndarray) -> list[float]:
    return image.reshape(4, 10, 50, 3).mean(axis=(1, 2, 3)).tolist()


def test_synthesize_gives_the_bytes_of_its_version():
    linear = [image for _, image in average_windows(list(FRAMES), (5, 15), "linear")]
    gamma = [image for _, image in average_windows(list(FRAMES), (5, 15), "gamma")]
    assert (synthesize.VERSION, digest(*linear), digest(*gamma)) == (
        1,
        "45be53d0cf4263fd",
        "ad770c6e80ed6a0a",
    )


def test_haze_has_the_values_of_its_version():
    """By means, since processors round differently in the last bit."""
    depth = np.linspace(0, 1, 40 * 50, dtype=np.float32).reshape(40, 50)
    rng = np.random.default_rng(0)
    hazy = make_hazy(FRAMES[0], depth, HazeParameters(nearest=0.25), 0.5, rng)
    assert synthesize.HAZE_VERSION == 1
    assert quarters(hazy) == pytest.approx(HAZY, abs=0.1)


def test_rain_has_the_values_of_its_version():
    rainy = make_rainy(FRAMES[0], RainParameters(), 0.5, np.random.default_rng(0))
    assert synthesize.RAIN_VERSION == 1
    assert rainy.reshape(4, 10, 50, 3).mean(axis=(1, 2, 3)).tolist() == pytest.approx(
        RAINY, abs=0.1
    )


def test_names_are_seeds_of_their_version(tmp_path):
    """What a level draws depends on the seed and on its file's name, and on nothing else."""
    write_image(tmp_path / "set", "train/a/0.png", FRAMES[0])
    raw = load_raw(tmp_path, kind="folder", folder={"path": str(tmp_path / "set")})
    [job] = synthesize_rain(raw, RainParameters(levels=2)).plan().jobs
    assert job.names == ("train/a/clean/0.png", "train/a/rainy_01/0.png", "train/a/rainy_02/0.png")
    means = [float(made.mean()) for _, made in job.make(job.names)]
    assert means == pytest.approx(NAMED, abs=0.1)


def test_crop_gives_the_bytes_of_its_version():
    patches = cut_patches(FRAMES[0], patch_grid(40, 50, 16, 12), 16)
    assert (crop.VERSION, digest(patches)) == (1, "4015998fb74a727c")


def test_download_gives_the_scenes_of_its_version():
    """By thumbnail, since processors round differently in the last bit."""
    scene = SceneParameters(frames=3, height=48, width=64)
    photographs = [one for one in PHOTOGRAPHS if one.split == "test"]
    *_, last = render_frames(scene, "test", 0, photographs)
    thumbnail = last.reshape(3, 16, 4, 16, 3).mean(axis=(1, 3)).mean(axis=2)
    assert download.VERSION == 1
    assert thumbnail.tolist() == [pytest.approx(row, abs=0.3) for row in THUMBNAIL]
