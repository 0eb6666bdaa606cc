"""Videos restored frame by frame: sound and timing are kept, and a killed run goes on.

Frames are written in parts of a second or two, which wait in a hidden folder beside the result.
When all are there, they are joined with the sound of the original into one file.
"""

import heapq
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import av
import numpy as np
from av.video.stream import VideoStream

from idemnet.datasets.checksum import hash_file
from idemnet.datasets.files import write_whole
from idemnet.errors import BadInputError
from idemnet.recipes import Image

# Without frames that refer to later ones: only then can parts be put one behind the other.
H264 = ("libx264", {"crf": "16", "bf": "0"})
VP9 = ("libvpx-vp9", {"crf": "18", "b:v": "0", "lag-in-frames": "0", "auto-alt-ref": "0"})
CODECS = {".mp4": H264, ".mov": H264, ".mkv": H264, ".webm": VP9}
"""What each kind of file is written with."""
PART = 48
"""Frames of a part."""
PARTS = "nut"
"""Format of a part: one that keeps any timing."""
PLAIN = ("yuv420p", "yuv422p", "yuv444p")
"""Pixel formats that are kept."""


def count_frames(path: Path) -> int:
    """Give the number of frames, as far as it can be known without decoding them."""
    with av.open(str(path)) as container:
        stream = _video_of(container, path)
        if stream.frames:
            return int(stream.frames)
        return sum(packet.size > 0 for packet in container.demux(stream))


def restore_clip(
    source: Path,
    target: Path,
    restore: Callable[[Image], Image],
    made_with: str,
    advance: Callable[[int], None],
) -> None:
    """Restore a video.

    Args:
        source: The video.
        target: What it becomes; the suffix says which kind of file.
        restore: Restores one frame.
        made_with: Says what `restore` does: what another one has begun is not gone on with.
        advance: Told of each frame.

    Raises:
        BadInputError: If it cannot be read; what is restored so far waits for the next try.
    """
    parts = target.with_name(f".{target.name}.parts")
    _claim(parts, f"{hash_file(source)} {made_with}")
    try:
        with av.open(str(source)) as container:
            frames = container.decode(_video_of(container, source))
            _restore_frames(frames, parts, restore, target.suffix.lower(), advance)
        joined = parts / f"joined{target.suffix}"
        _join(sorted(parts.glob(f"*.{PARTS}")), source, joined)
    except av.FFmpegError as error:
        raise BadInputError(f"{source}: cannot be restored as a video ({error})") from error
    joined.replace(target)
    shutil.rmtree(parts)


def _claim(parts: Path, made_of: str) -> None:
    """Begin a folder of parts, or go on with one that was begun for the same."""
    note = parts / "made_of"
    if note.is_file() and note.read_text(encoding="utf-8") == made_of:
        return
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir(parents=True)
    write_whole(note, [made_of.encode()])


def _restore_frames(
    frames: Iterable[Any],
    parts: Path,
    restore: Callable[[Image], Image],
    suffix: str,
    advance: Callable[[int], None],
) -> None:
    part: _Part | None = None
    for number, frame in enumerate(frames):
        if number % PART == 0:
            if part is not None:
                part.finish()
            path = parts / f"{number // PART:08d}.{PARTS}"
            part = None if path.exists() else _Part(path, frame, suffix)
        if part is not None:
            upright = np.rot90(frame.to_ndarray(format="rgb24"), round(frame.rotation / 90))
            part.add(restore(np.ascontiguousarray(upright)), frame)
        advance(1)
    if part is not None:
        part.finish()


class _Part:
    """Frames on their way into a file, which is there when all of them are."""

    def __init__(self, path: Path, first: Any, suffix: str) -> None:
        self._path = path
        self._content = io.BytesIO()
        self._container = av.open(self._content, "w", format=PARTS)
        codec, options = CODECS[suffix]
        stream = self._container.add_stream(codec, options=options)
        self._stream = cast(VideoStream, stream)
        turned = round(first.rotation / 90) % 2
        width, height = (first.width, first.height)[:: -1 if turned else 1]
        self._stream.width, self._stream.height = width, height
        name = first.format.name.replace("yuvj", "yuv")
        self._stream.pix_fmt = name if name in PLAIN else PLAIN[0]
        context = self._stream.codec_context
        context.time_base = self._stream.time_base = first.time_base
        context.colorspace, context.color_range = first.colorspace, first.color_range
        context.color_primaries, context.color_trc = first.color_primaries, first.color_trc

    def add(self, image: Image, like: Any) -> None:
        """Take one more frame, shown when another one was."""
        frame = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(
            format=self._stream.pix_fmt,
            dst_colorspace=like.colorspace,
            dst_color_range=like.color_range,
        )
        frame.pts, frame.time_base = like.pts, like.time_base
        self._container.mux(self._stream.encode(frame))

    def finish(self) -> None:
        self._container.mux(self._stream.encode(None))
        self._container.close()
        write_whole(self._path, [self._content.getvalue()])


def _join(parts: list[Path], source: Path, joined: Path) -> None:
    """Put parts one behind the other, and the original's sound beside them."""
    container: Any
    with (
        av.open(str(source)) as original,
        av.open(str(parts[0])) as first,
        av.open(str(joined), "w") as container,
    ):
        container.metadata.update(original.metadata)
        video = container.add_stream_from_template(first.streams.video[0])
        sounds = {
            stream.index: container.add_stream_from_template(stream)
            for stream in original.streams.audio
        }
        packets = [_packets(parts, video)]
        if sounds:
            packets.append(_sound(original, sounds))
        for _, packet in heapq.merge(*packets, key=lambda timed: timed[0]):
            container.mux(packet)
    with joined.open("rb") as file:
        os.fsync(file.fileno())


def _packets(parts: list[Path], stream: Any) -> Iterator[tuple[float, Any]]:
    for part in parts:
        with av.open(str(part)) as container:
            for packet in container.demux(video=0):
                if packet.dts is not None:
                    packet.stream = stream
                    yield float(packet.dts * packet.time_base), packet


def _sound(original: Any, streams: dict[int, Any]) -> Iterator[tuple[float, Any]]:
    for packet in original.demux(list(original.streams.audio)):
        if packet.dts is not None:
            packet.stream = streams[packet.stream.index]
            yield float(packet.dts * packet.time_base), packet


def _video_of(container: Any, path: Path) -> Any:
    if not container.streams.video:
        raise BadInputError(f"{path}: holds no video")
    stream = container.streams.video[0]
    stream.thread_type = "AUTO"
    return stream
