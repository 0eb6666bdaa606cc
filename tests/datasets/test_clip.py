"""Videos come back frame by frame, with their sound and timing, also after a kill."""

import av
import numpy as np
import pytest

from idemnet.datasets.clip import PART, count_frames, restore_clip
from idemnet.errors import BadInputError

PTS = [0, 3, 4, 7, 9]
"""A film that does not run evenly."""


def film(path, count=5, *, sound=True, colorspace=1, size=(48, 64)):
    """Write a video of moving colours; `count` frames, with a tone beside."""
    with av.open(str(path), "w") as container:
        codec = "libvpx-vp9" if path.suffix == ".webm" else "libx264"
        video = container.add_stream(codec, rate=30, options={"crf": "5"})
        video.height, video.width = size
        video.pix_fmt = "yuv420p"
        video.codec_context.colorspace = colorspace
        voice = "libopus" if path.suffix == ".webm" else "aac"
        audio = container.add_stream(voice, rate=48000, layout="mono") if sound else None
        for number in range(count):
            image = np.zeros((*size, 3), np.uint8)
            image[:] = (200, 40, 90)
            image[:, 4 * number % size[1] :] = (30, 120, 220)
            frame = av.VideoFrame.from_ndarray(image, "rgb24").reformat(
                format="yuv420p", dst_colorspace=colorspace
            )
            frame.pts = PTS[number % 5] + 10 * (number // 5)
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        if audio is not None:
            tone = np.sin(np.arange(48000) / 20)[None].astype(np.float32)
            frame = av.AudioFrame.from_ndarray(tone, format="fltp", layout="mono")
            frame.sample_rate = 48000
            container.mux(audio.encode(frame))
            container.mux(audio.encode(None))
    return path


def frames_of(path):
    with av.open(str(path)) as container:
        return [
            (frame.time, frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)
        ]


def sound_of(path):
    with av.open(str(path)) as container:
        packets = container.demux(container.streams.audio[0])
        return [(float(one.pts * one.time_base), bytes(one)) for one in packets if one.size]


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".webm"])
def test_timing_sound_and_colours_are_kept(tmp_path, suffix):
    source, target = film(tmp_path / f"a{suffix}", 2 * PART + 5), tmp_path / f"b{suffix}"
    told = []
    restore_clip(source, target, lambda image: image, "nothing", told.append)
    before, after = frames_of(source), frames_of(target)
    assert [time for time, _ in after] == pytest.approx([time for time, _ in before], abs=1e-3)
    assert (
        max(np.abs(a.astype(int) - b).mean() for (_, a), (_, b) in zip(before, after, strict=True))
        < 3
    )
    assert [data for _, data in sound_of(target)] == [data for _, data in sound_of(source)]
    assert [time for time, _ in sound_of(target)] == pytest.approx(
        [time for time, _ in sound_of(source)], abs=2e-3
    )
    assert sum(told) == len(before) == count_frames(source)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a{suffix}", f"b{suffix}"]


def test_frames_are_what_restore_gives(tmp_path):
    source = film(tmp_path / "a.mp4", sound=False)
    restore_clip(source, tmp_path / "b.mp4", lambda image: 255 - image, "negative", lambda _: None)
    for (_, before), (_, after) in zip(
        frames_of(source), frames_of(tmp_path / "b.mp4"), strict=True
    ):
        assert np.abs(255 - before.astype(int) - after).mean() < 3


def test_what_was_restored_is_not_restored_again(tmp_path):
    source, target = film(tmp_path / "a.mp4", PART + 10), tmp_path / "b.mp4"
    restored = []

    def fail_late(image):
        restored.append(1)
        if len(restored) == PART + 3:
            raise KeyboardInterrupt
        return image

    with pytest.raises(KeyboardInterrupt):
        restore_clip(source, target, fail_late, "same", lambda _: None)
    assert not target.exists()
    restored.clear()
    restore_clip(source, target, fail_late, "same", lambda _: None)
    assert len(restored) == 10
    assert len(frames_of(target)) == PART + 10


def test_other_weights_begin_anew(tmp_path):
    source, target = film(tmp_path / "a.mp4", PART + 1), tmp_path / "b.mp4"

    def stop(image):
        if frames.append(1) or len(frames) > PART:
            raise KeyboardInterrupt
        return image

    frames = []
    with pytest.raises(KeyboardInterrupt):
        restore_clip(source, target, stop, "some weights", lambda _: None)
    again = []
    restore_clip(source, target, lambda image: again.append(1) or image, "others", lambda _: None)
    assert len(again) == PART + 1


def test_what_is_no_video_is_said(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"no video")
    with pytest.raises(BadInputError, match=r"a\.mp4: cannot be restored as a video"):
        restore_clip(tmp_path / "a.mp4", tmp_path / "b.mp4", lambda i: i, "x", lambda _: None)
