"""A video is a sequence: counted without decoding, decoded forward, never held whole."""

import imageio.v3 as iio
import numpy as np
import pytest

from idemnet.errors import BadInputError
from idemnet.media.frames import open_video


def write_video(path, count=20, height=48, width=64):
    """Frames whose brightness tells their number, losslessly enough to be told apart."""
    with iio.imopen(path, "w", plugin="pyav") as video:
        video.init_video_stream("libx264", fps=240, pixel_format="yuv420p")
        for number in range(count):
            video.write_frame(np.full((height, width, 3), 10 + 10 * (number % 24), np.uint8))


def test_frames_come_in_order_and_only_those_asked_for(tmp_path):
    write_video(tmp_path / "hand held #1.mp4")
    video = open_video(tmp_path / "hand held #1.mp4", "train")
    assert (video.name, len(video.frames), video.size()) == ("hand held #1", 20, (48, 64))
    values = [int(frame.mean().round()) for frame in video.read(5, 9)]
    assert values == pytest.approx([60, 70, 80, 90], abs=2)


def test_mov_works_too(tmp_path):
    write_video(tmp_path / "a.mov", count=3)
    assert [frame.shape for frame in open_video(tmp_path / "a.mov", "test").read(0, 3)] == [
        (48, 64, 3)
    ] * 3


def test_what_is_no_video_is_rejected_by_name(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"<html>")
    with pytest.raises(BadInputError, match=r"a\.mp4: cannot be read as a video"):
        open_video(tmp_path / "a.mp4", "train")


def test_a_video_that_ends_early_is_noticed(tmp_path):
    from dataclasses import replace

    write_video(tmp_path / "a.mp4", count=5)
    video = replace(open_video(tmp_path / "a.mp4", "train"), length=9)
    with pytest.raises(BadInputError, match=r"a\.mp4: ends after 5 of 9 frames"):
        list(video.read(0, 9))
