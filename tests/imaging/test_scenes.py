import hashlib
import os
import subprocess
import sys
from itertools import islice, pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest

from idemnet.imaging.composition import draw_scene
from idemnet.imaging.scenes import render_depth, render_frames
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.parameters.source import SceneParameters

SMALL = SceneParameters(frames=17, height=120, width=160)
SPLITS = ("train", "validation", "test")
numbers = pytest.mark.parametrize("number", range(9))


def photographs_of(split):
    return [photograph for photograph in PHOTOGRAPHS if photograph.split == split]


def frames_of(scene=SMALL, split="train", number=0):
    return np.stack(list(render_frames(scene, split, number, photographs_of(split))))


def flat(value):
    return lambda: np.full((300, 400, 3), value, np.uint8)


def psnr(one, other):
    return 10 * np.log10(255**2 / np.mean((one.astype(float) - other) ** 2))


def detail(picture):
    return (
        np.abs(np.diff(picture.astype(float), axis=0)).mean()
        + np.abs(np.diff(picture.astype(float), axis=1)).mean()
    )


def test_same_arguments_same_bytes_in_another_process_with_one_thread():
    code = (
        "import cv2; cv2.setNumThreads(1)\n"
        "from test_scenes import fingerprint; print(fingerprint())"
    )
    here = str(Path(__file__).parent)
    environment = os.environ | {
        "PYTHONHASHSEED": "123",
        "PYTHONPATH": os.pathsep.join([here, *sys.path]),
    }
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    assert answer.stdout.strip() == fingerprint()


def fingerprint():
    digest = hashlib.sha256()
    for number in (0, 2, 5, 8):  # a photograph, and each procedural texture
        digest.update(frames_of(number=number).tobytes())
        digest.update(render_depth(SMALL, "train", number, photographs_of("train")).tobytes())
    return digest.hexdigest()


def test_frames_do_not_depend_on_what_was_rendered_before():
    alone = frames_of(number=3)
    together = zip(
        render_frames(SMALL, "train", 4, photographs_of("train")),
        render_frames(SMALL, "train", 3, photographs_of("train")),
        strict=True,
    )
    assert np.array_equal(alone, [frame for _, frame in together])


def test_another_seed_number_or_split_is_another_scene():
    first = {
        next(
            render_frames(SMALL.model_copy(update={"seed": seed}), split, number, photos)
        ).tobytes()
        for seed in (0, 1)
        for number in (0, 2, 14)
        for split in SPLITS
        for photos in [photographs_of("train")]
    }
    assert len(first) == 2 * 3 * 3


@pytest.mark.parametrize(("height", "width"), [(33, 47), (32, 32), (47, 33), (97, 400)])
@pytest.mark.parametrize("number", [0, 2, 5, 8])
def test_any_frame_size(height, width, number):
    scene = SceneParameters(frames=3, height=height, width=width)
    frames = list(render_frames(scene, "train", number, photographs_of("train")))
    assert [(frame.shape, frame.dtype) for frame in frames] == [((height, width, 3), np.uint8)] * 3
    depth = render_depth(scene, "train", number, photographs_of("train"))
    assert (depth.shape, depth.dtype) == ((height, width), np.float32)


@numbers
def test_motion_is_smooth(number):
    frames = frames_of(number=number)
    near = [psnr(a, b) for a, b in pairwise(frames)]
    far = [psnr(a, b) for a, b in zip(frames, frames[8:], strict=False)]
    assert max(near) < 60
    assert min(near) > 17
    assert np.mean(near) > np.mean(far) + 3
    # A jump would stand out among the differences of its neighbours.
    assert np.abs(np.diff(near)).max() < 8


def test_blur_is_not_the_same_everywhere():
    def spread(number):
        """Of the shifts of 80 x 80 parts of the picture within three frames, in pixels."""
        frames = frames_of(SceneParameters(frames=4), number=number).mean(axis=-1)
        window = cv2.createHanningWindow((80, 80), cv2.CV_64F)
        parts = [
            np.s_[y : y + 80, x : x + 80] for y in range(0, 240, 80) for x in range(0, 320, 80)
        ]
        shifts = [cv2.phaseCorrelate(frames[0][part], frames[3][part], window)[0] for part in parts]
        return np.ptp(shifts, axis=0).max()

    # Measured 0.4 when everything moves alike: the error of the measurement.
    assert np.median([spread(number) for number in range(9)]) > 1.2


@numbers
def test_frames_are_sharp_and_their_mean_is_not(number):
    frames = frames_of(number=number)
    mean = frames[3:14].mean(axis=0)
    assert detail(frames[8]) > 6
    assert detail(mean) < 0.95 * detail(frames[8])
    assert 14 < psnr(frames[8], mean) < 40


def test_no_frame_is_softer_for_being_in_the_middle_or_not():
    frames = frames_of(number=6)
    amounts = [detail(frame) for frame in frames]
    assert max(amounts) < 1.15 * min(amounts)


def test_a_few_successive_scenes_range_from_calm_to_shaken():
    def travel(seed, number):
        scene = SceneParameters(seed=seed, height=32, width=32)
        view = draw_scene(scene, "test", number, [flat(99)]).camera.view
        return np.hypot(*np.diff([view.at(moment).shift for moment in range(31)], axis=0).T).sum()

    travels = [np.mean([travel(seed, number) for seed in range(20)]) for number in range(4)]
    assert max(travels) > 2.5 * min(travels)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_black_comes_in_from_beyond_the_edge(seed):
    scene = SceneParameters(seed=seed, frames=60, height=33, width=47)
    frames = list(render_frames(scene, "train", 1, [flat(255)]))
    assert np.min(frames) > 10


@pytest.mark.parametrize("split", SPLITS)
@numbers
def test_things_are_nearer_than_the_background(split, number):
    depth = render_depth(SMALL, split, number, photographs_of(split))
    assert depth.min() > 0
    assert depth.max() <= 1
    assert 0.005 < np.mean(depth < 0.52) < 0.8


def test_depth_is_that_of_the_middle_frame():
    seen = 0
    for seed in range(6):
        scene = SMALL.model_copy(update={"seed": seed})
        black_and_white = [flat(0), flat(255)]  # number 0 has the first for its background
        middle = list(render_frames(scene, "train", 0, black_and_white))[scene.frames // 2]
        thing = middle.min(axis=-1) > 200
        depth = render_depth(scene, "train", 0, black_and_white)
        assert np.all(depth[thing] < 0.65)
        seen += np.sum(thing)
    assert seen > 1000


def test_frames_come_one_at_a_time():
    read = []
    photographs = [lambda: read.append(1) or flat(99)()]
    frames = render_frames(SceneParameters(frames=10**9), "test", 0, photographs)
    assert not read
    assert len(list(islice(frames, 2))) == 2


def test_split_is_one_of_three_and_has_photographs():
    with pytest.raises(ValueError, match="split must be one of train, validation, test"):
        next(render_frames(SMALL, "training", 0, [flat(0)]))
    with pytest.raises(ValueError, match="at least one photograph"):
        render_depth(SMALL, "test", 0, [])
