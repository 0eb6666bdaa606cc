"""Blur is the plain mean of frames, exactly, at every level, with each frame decoded once."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PillowImage

from idemnet.errors import BadInputError
from idemnet.imaging.blur import average_windows, blur_sequence, find_centres
from idemnet.parameters.synthesize import BlurParameters


@dataclass
class FakeSequence:
    """Random frames that count how often they are decoded."""

    length: int
    name: str = "a"
    split: str = "train"
    decoded: list[int] = field(default_factory=list)

    @property
    def frames(self) -> list[str]:
        return [f"{number:06d}" for number in range(self.length)]

    def size(self) -> tuple[int, int]:
        return 5, 7

    def frame(self, number: int) -> np.ndarray:
        return np.random.default_rng(number).integers(0, 256, (5, 7, 3), np.uint8)

    def read(self, start: int, stop: int) -> Iterator[np.ndarray]:
        for number in range(start, stop):
            self.decoded.append(number)
            yield self.frame(number)


def plain_mean(frames: list[np.ndarray]) -> np.ndarray:
    return np.rint(np.mean(np.stack(frames), axis=0, dtype=np.float64)).astype(np.uint8)


def light_mean(frames: list[np.ndarray]) -> np.ndarray:
    light = np.mean([(frame / 255) ** 2.2 for frame in frames], axis=0)
    return np.rint(255 * light ** (1 / 2.2)).astype(np.uint8)


@given(
    length=st.integers(15, 60),
    stride=st.integers(1, 20),
    levels=st.sets(st.sampled_from([1, 3, 5, 7, 9, 11, 13, 15]), min_size=1).map(sorted),
)
def test_every_level_is_the_plain_mean_around_its_centre(length, stride, levels):
    sequence = FakeSequence(length)
    centres, _ = find_centres(sequence, BlurParameters(levels=tuple(levels), stride=stride))
    seen = 0
    for centre, sharp, blurred in blur_sequence(sequence, centres, "linear"):
        assert (sharp == sequence.frame(centre.frame)).all()
        for level, image in blurred:
            around = range(centre.frame - level // 2, centre.frame + level // 2 + 1)
            assert (image == plain_mean([sequence.frame(number) for number in around])).all()
            seen += 1
    assert seen == len(centres) * len(levels) > 0


def test_each_frame_is_decoded_once_for_all_levels():
    sequence = FakeSequence(90)
    centres, _ = find_centres(sequence, BlurParameters())
    for _ in blur_sequence(sequence, centres, "linear"):
        pass
    assert len(sequence.decoded) == len(set(sequence.decoded))


def test_extreme_values_do_not_overflow():
    white = [np.full((2, 2, 3), 255, np.uint8)] * 255
    assert all((image == 255).all() for _, image in average_windows(white, (5, 255), "linear"))


def test_gamma_averages_light():
    sequence = FakeSequence(15)
    frames = list(sequence.read(0, 15))
    for level, image in average_windows(frames, (5, 15), "gamma"):
        half = level // 2
        assert (image == light_mean(frames[7 - half : 8 + half])).all()
    dark, bright = np.zeros((1, 1, 3), np.uint8), np.full((1, 1, 3), 255, np.uint8)
    [(_, image)] = average_windows([dark, bright, dark], (3,), "gamma")
    assert image.max() == round(255 * (1 / 3) ** (1 / 2.2))  # 155, where the plain mean is 85


@pytest.mark.parametrize(
    ("length", "images"), [(15, 1), (16, 1), (22, 1), (26, 1), (34, 1), (35, 2)]
)
def test_a_centre_is_used_when_its_widest_window_fits(length, images):
    centres, dropped = find_centres(FakeSequence(length), BlurParameters())
    assert len(centres) == images
    # The candidates are the middles of disjoint runs of 11: 5 (no room for 15), 16, 27, ...
    assert dropped == len(range(5, length, 11)) - len([c for c in centres if c.frame % 11 == 5])


def test_level_11_has_the_centres_of_the_official_set():
    sequence = FakeSequence(100, name="GOPR0384_11_02")
    official, _ = find_centres(sequence, BlurParameters(windows="official"))
    centred, dropped = find_centres(sequence, BlurParameters())
    assert [centre.frame for centre in official] == [5, 16, 27, 38, 49, 60, 71, 82, 93]
    assert {centre.frame for centre in centred} < {centre.frame for centre in official}
    assert dropped == len(official) - len(centred) == 2


@pytest.mark.parametrize(("name", "window"), [("GOPR0372_07_00", 7), ("GOPR0884_13_01", 13)])
def test_official_windows_are_disjoint_runs_as_long_as_the_name_says(name, window):
    sequence = FakeSequence(2 * window + 3, name=name)
    centres, dropped = find_centres(sequence, BlurParameters(windows="official"))
    assert [(c.first, c.last) for c in centres] == [(0, window - 1), (window, 2 * window - 1)]
    assert dropped in (0, 1)


def test_official_windows_need_a_name_that_says_so():
    with pytest.raises(BadInputError, match="does not say how many frames"):
        find_centres(FakeSequence(20, name="holiday"), BlurParameters(windows="official"))


def test_real_frames_average_to_plain_means(real):
    paths = sorted((real / "gopro_frames/train/GOPR0477_11_00").glob("*.png"))[:15]
    frames = [np.asarray(PillowImage.open(path))[:360] for path in paths]
    for level, image in average_windows(frames, (5, 7, 9, 11, 13, 15), "linear"):
        chosen = frames[7 - level // 2 : 8 + level // 2]
        assert (image == plain_mean(chosen)).all()
    [(_, gamma)] = average_windows(frames, (15,), "gamma")
    assert (gamma == light_mean(frames)).all()
    # By the power mean inequality, averaging light is never darker, and somewhere it is brighter.
    difference = gamma.astype(int) - plain_mean(frames)
    assert difference.min() >= 0 and difference.max() > 10


def test_a_frame_of_another_size_is_named():
    class Growing(FakeSequence):
        def frame(self, number: int) -> np.ndarray:
            return super().frame(number)[: 5 if number < 9 else 4]

    sequence = Growing(20)
    centres, _ = find_centres(sequence, BlurParameters(levels=(3,)))
    with pytest.raises(BadInputError, match="frame 000009 has another size"):
        list(blur_sequence(sequence, centres, "linear"))
