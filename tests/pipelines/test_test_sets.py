"""Frames of a test-only data set are test images at every level, whatever split they are in."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from idemnet.pipelines.test_sets import EVERY_SECOND_FRAME, pair_up
from idemnet.steps.data import RawData


@dataclass(frozen=True)
class Filmed:
    split: str = "train"
    name: str = "GOPR0001_11_00"
    frames: tuple[str, ...] = tuple(f"{number:06}" for number in range(25))

    def size(self) -> tuple[int, int]:
        return 8, 12

    def read(self, start: int, stop: int) -> Iterator[np.ndarray]:
        for number in range(start, stop):
            yield np.full((8, 12, 3), number, np.uint8)


def test_every_second_frame_is_a_centre_at_every_level():
    raw = RawData("f" * 64, "frames", [Filmed()], {}, None)
    plan = pair_up(raw).plan()
    rows = plan.about["pairs"]
    assert {row["split"] for row in rows} == {"test"}
    assert {row["level"] for row in rows} == set(EVERY_SECOND_FRAME.levels)
    centres = sorted({int(row["frame"]) for row in rows})
    assert np.diff(centres).tolist() == [2] * (len(centres) - 1)
    assert 7 <= centres[0] < centres[-1] <= 17  # the widest window has 7 frames on each side
    [job] = plan.jobs
    images = dict(job.make(job.names))
    for row in rows:  # the mean of a ramp is its middle
        assert (images[row["degraded"]] == images[row["clean"]]).all()
