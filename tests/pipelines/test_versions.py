"""Known bytes: whoever changes what a step computes must raise its VERSION, and these with it."""

import hashlib

import numpy as np
import pytest

from idemnet.datasets.photographs import PHOTOGRAPHS
from idemnet.imaging.blur import average_windows
from idemnet.imaging.crop import cut_patches, patch_grid
from idemnet.imaging.scenes import render_frames
from idemnet.parameters import SceneParameters
from idemnet.pipelines import crop, download, synthesize

THUMBNAIL = [[83.1, 47.8, 38.8, 38.6], [50.6, 46.6, 40.8, 33.7], [16.5, 40.8, 29.9, 16.2]]
FRAMES = np.random.default_rng(0).integers(0, 256, (15, 40, 50, 3), np.uint8)


def digest(*arrays: np.ndarray) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


def test_synthesize_gives_the_bytes_of_its_version():
    linear = [image for _, image in average_windows(list(FRAMES), (5, 15), "linear")]
    gamma = [image for _, image in average_windows(list(FRAMES), (5, 15), "gamma")]
    assert (synthesize.VERSION, digest(*linear), digest(*gamma)) == (
        1,
        "45be53d0cf4263fd",
        "ad770c6e80ed6a0a",
    )


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
