"""Videos come back frame by frame, with their sound and timing, also after a kill."""

import struct

import av
import numpy as np
import pytest

from idemnet.errors import BadInputError
from idemnet.inference.video import PART, count_frames, name_loss, restore_clip

PTS = [0, 3, 4, 7, 9]
"""A film that does not run evenly."""


def film(path, count=5, *, sound=True, colorspace=1, size=(48, 64), pixels="yuv420p"):
    """Write a video of moving colours; `count` frames, with a tone beside."""
    with av.open(str(path), "w") as container:
        codec = "libvpx-vp9" if path.suffix == ".webm" else "libx264"
        video = container.add_stream(codec, rate=30, options={"crf": "5"})
        video.height, video.width = size
        video.pix_fmt = pixels
        video.codec_context.colorspace = colorspace
        voice = "libopus" if path.suffix == ".webm" else "aac"
        audio = container.add_stream(voice, rate=48000, layout="mono") if sound else None
        for number in range(count):
            image = np.zeros((*size, 3), np.uint8)
            image[:] = (200, 40, 90)
            image[:, 4 * number % size[1] :] = (30, 120, 220)
            frame = av.VideoFrame.from_ndarray(image, "rgb24").reformat(
                format=pixels, dst_colorspace=colorspace
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


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv", ".webm"])
def test_the_last_frame_is_shown_as_long_as_it_was(tmp_path, suffix):
    """A title at the end, for two seconds; frames before it as long as they are apart."""
    source, target = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    with av.open(str(source), "w") as container:
        codec, options = ("libvpx-vp9", {}) if suffix == ".webm" else ("libx264", {"bf": "0"})
        stream = container.add_stream(codec, rate=30, options=options)
        stream.height, stream.width, stream.pix_fmt = 48, 64, "yuv420p"
        packets = []
        for pts in PTS:
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 90, np.uint8), "rgb24")
            frame.pts = pts
            packets += stream.encode(frame)
        packets += stream.encode(None)
        packets[-1].duration = round(2 / packets[-1].time_base)
        container.mux(packets)
    restore_clip(source, target, lambda image: image, "nothing", lambda _: None)
    assert length_of(source) == pytest.approx(PTS[-1] / 30 + 2, abs=0.01)
    assert length_of(target) == pytest.approx(length_of(source), abs=0.002)


def length_of(path):
    with av.open(str(path)) as container:
        return container.duration / av.time_base


def test_frames_are_what_restore_gives(tmp_path):
    source = film(tmp_path / "a.mp4", sound=False)
    restore_clip(source, tmp_path / "b.mp4", lambda image: 255 - image, "negative", lambda _: None)
    for (_, before), (_, after) in zip(
        frames_of(source), frames_of(tmp_path / "b.mp4"), strict=True
    ):
        assert np.abs(255 - before.astype(int) - after).mean() < 3


@pytest.mark.parametrize("pixels", ["yuv420p10le", "yuv422p10le", "yuv444p10le"])
def test_ten_bits_stay_ten_bits(tmp_path, pixels):
    """A ramp so soft that in 8 bits it is one step."""
    source, target = tmp_path / "a.mp4", tmp_path / "b.mp4"
    ramp = np.linspace(30000, 30512, 64).astype(np.uint16)
    image = np.broadcast_to(ramp[None, :, None], (48, 64, 3)).copy()
    with av.open(str(source), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"crf": "0"})
        stream.height, stream.width, stream.pix_fmt = 48, 64, pixels
        frame = av.VideoFrame.from_ndarray(image, "rgb48le").reformat(format=pixels)
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    seen = []
    restore_clip(source, target, lambda one: seen.append(one) or one, "same", lambda _: None)
    assert seen[0].dtype == np.uint16
    with av.open(str(target)) as container:
        [after] = container.decode(video=0)
    assert after.format.name == pixels
    brightness = np.frombuffer(after.planes[0], np.uint16).reshape(48, -1)[:, :64]
    assert len(np.unique(brightness)) >= 4
    assert name_loss(source, target) == ""


def test_what_is_lost_is_reported(tmp_path):
    film(tmp_path / "deep.mkv", pixels="yuv420p10le", sound=False)
    assert name_loss(tmp_path / "deep.mkv", tmp_path / "deep.webm").endswith("10 bits become 8")
    restore_clip(tmp_path / "deep.mkv", tmp_path / "b.webm", lambda i: i, "x", lambda _: None)
    for (_, before), (_, after) in zip(
        frames_of(tmp_path / "deep.mkv"), frames_of(tmp_path / "b.webm"), strict=True
    ):
        assert np.abs(before.astype(int) - after).mean() < 3
    (tmp_path / "none.mp4").write_bytes(b"no video")
    assert name_loss(tmp_path / "none.mp4", tmp_path / "b.mp4") == ""


TURNS = {
    1: (0, -1, 1, 0, 0, 64),
    2: (-1, 0, 0, -1, 64, 48),
    3: (0, 1, -1, 0, 48, 0),
}
"""By quarter turns to the left: where a player puts a column and a row, and the corner."""


@pytest.mark.parametrize("quarters", TURNS)
def test_a_film_from_a_turned_phone_comes_back_upright(tmp_path, quarters):
    """The turn is written as in the format's standard: p' = a p + c q + x, q' = b p + d q + y."""
    source, target = film(tmp_path / "a.mp4"), tmp_path / "b.mp4"
    as_filmed = [image for _, image in frames_of(source)]
    a, b, c, d, x, y = (one << 16 for one in TURNS[quarters])
    content = source.read_bytes()
    place = content.index(b"tkhd") + 4 + 40
    matrix = struct.pack(">9i", a, b, 0, c, d, 0, x, y, 1 << 30)
    source.write_bytes(content[:place] + matrix + content[place + len(matrix) :])
    restore_clip(source, target, lambda image: image, "nothing", lambda _: None)
    with av.open(str(target)) as container:
        assert {frame.rotation for frame in container.decode(video=0)} == {0}
    after = [image for _, image in frames_of(target)]
    for before, shown in zip(as_filmed, after, strict=True):
        assert np.abs(np.rot90(before, quarters).astype(int) - shown).mean() < 3
    assert sound_of(target)


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


def test_sound_that_the_result_cannot_hold_is_reported_before_anything_is_restored(tmp_path):
    source, restored = film(tmp_path / "a.mp4"), []
    with pytest.raises(BadInputError, match=r"a\.mp4: a \.webm file cannot hold aac audio"):
        restore_clip(source, tmp_path / "b.webm", restored.append, "x", lambda _: None)
    assert restored == []


def test_what_is_no_video_is_reported(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"no video")
    with pytest.raises(BadInputError, match=r"a\.mp4: cannot be restored as a video"):
        restore_clip(tmp_path / "a.mp4", tmp_path / "b.mp4", lambda i: i, "x", lambda _: None)
    with pytest.raises(BadInputError, match=r"a\.mp4: cannot be restored as a video"):
        count_frames(tmp_path / "a.mp4")
