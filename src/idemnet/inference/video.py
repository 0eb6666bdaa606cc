"""Restore videos frame by frame: sound and timing are kept, and a killed run resumes.

Frames are written in parts of a second or two, kept in a hidden folder next to the result. When all
parts are complete, they are joined with the original's sound into one file.
"""

import heapq
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import av
import numpy as np
from av.video.stream import VideoStream
from numpy.typing import NDArray

from idemnet.errors import BadInputError
from idemnet.storage.atomic import write_atomic
from idemnet.storage.checksum import hash_file

Frame = NDArray[Any]
"""(height, width, 3), RGB, uint8 or uint16."""

PLAIN = ("yuv420p", "yuv422p", "yuv444p")
DEEP = tuple(f"{name}10le" for name in PLAIN)
"""The same with 10 bits."""


@dataclass(frozen=True)
class Codec:
    """How videos are written."""

    name: str
    options: Mapping[str, str]
    formats: tuple[str, ...]
    """Pixel formats that are kept."""

    def choose_format(self, came: Any) -> str:
        """Return the pixel format if it is supported, or the one that loses least."""
        name: str = came.name.replace("yuvj", "yuv")
        if name in self.formats:
            return name
        return DEEP[0] if _bits(came) > 8 and DEEP[0] in self.formats else PLAIN[0]


# No B-frames, so that parts can be concatenated.
H264 = Codec("libx264", {"crf": "16", "bf": "0"}, (*PLAIN, *DEEP))
VP9 = Codec(
    "libvpx-vp9",
    {"crf": "18", "b:v": "0", "lag-in-frames": "0", "auto-alt-ref": "0"},
    PLAIN,  # PyAV's build has no 10-bit formats
)
CODECS = {".mp4": H264, ".mov": H264, ".mkv": H264, ".webm": VP9}
"""Codec of each kind of file."""
PART = 48
"""Frames in a part."""
PARTS = "nut"
"""Container of a part, which keeps any timing."""


def count_frames(path: Path) -> int:
    """Return the number of frames according to the container, without decoding them.

    Raises:
        BadInputError: If it cannot be read.
    """
    with _naming(path), av.open(str(path)) as container:
        stream = _video_of(container, path)
        if stream.frames:
            return int(stream.frames)
        return sum(packet.size > 0 for packet in container.demux(stream))


@contextmanager
def _naming(source: Path) -> Iterator[None]:
    """Prefix decoder errors with the video's name."""
    try:
        yield
    except av.FFmpegError as error:
        raise BadInputError(f"{source}: cannot be restored as a video ({error})") from error


def name_loss(source: Path, target: Path) -> str:
    """Describe losses in a video's pixel format; empty if it cannot be read."""
    try:
        with av.open(str(source)) as container:
            came = _video_of(container, source).format
    except (av.FFmpegError, BadInputError):
        return ""
    kept = av.VideoFormat(CODECS[target.suffix.lower()].choose_format(came))
    losses = []
    if _bits(kept) < _bits(came):
        losses.append(f"{_bits(came)} bits become {_bits(kept)}")
    if any(component.is_alpha for component in came.components):
        losses.append("transparency is lost")
    return f"{source}: {' and '.join(losses)}" if losses else ""


def _bits(pixels: Any) -> int:
    return max(int(component.bits) for component in pixels.components)


def restore_clip(
    source: Path,
    target: Path,
    restore: Callable[[Frame], Frame],
    made_with: str,
    advance: Callable[[int], None],
) -> None:
    """Restore a video.

    Args:
        source: The video.
        target: The result; its suffix chooses the format.
        restore: Restores one frame.
        made_with: Identifies the network and settings; parts made with others are discarded.
        advance: Called for each frame.

    Raises:
        BadInputError: If it cannot be read; finished parts are kept for the next attempt.
    """
    parts = target.with_name(f".{target.name}.parts")
    _claim(parts, f"{hash_file(source)} {made_with}")
    joined = parts / f"joined{target.suffix}"
    with _naming(source):
        with av.open(str(source)) as container:
            _check_sound(container, source, joined)
            frames = container.decode(_video_of(container, source))
            _restore_frames(frames, parts, restore, target.suffix.lower(), advance)
        _join(sorted(parts.glob(f"*.{PARTS}")), source, joined)
    joined.replace(target)
    shutil.rmtree(parts)


def _check_sound(original: Any, source: Path, joined: Path) -> None:
    """Check that the result's format supports the sound, before restoring."""
    with av.open(str(joined), "w") as container:
        for stream in original.streams.audio:
            try:
                container.add_stream_from_template(stream)
            except ValueError:
                kind = stream.codec_context.name
                raise BadInputError(
                    f"{source}: a {joined.suffix} file cannot hold {kind} audio, use --output to "
                    "choose another format, such as .mkv"
                ) from None


def _claim(parts: Path, made_of: str) -> None:
    """Create the folder of parts, or reuse one of the same video and settings."""
    note = parts / "made_of"
    if note.is_file() and note.read_text(encoding="utf-8") == made_of:
        return
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir(parents=True)
    write_atomic(note, [made_of.encode()])


def _restore_frames(
    frames: Iterable[Any],
    parts: Path,
    restore: Callable[[Frame], Frame],
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
            values = frame.to_ndarray(format="rgb48le" if _bits(frame.format) > 8 else "rgb24")
            upright = np.rot90(values, round(frame.rotation / 90))
            part.add(restore(np.ascontiguousarray(upright)), frame)
        advance(1)
    if part is not None:
        part.finish()


class _Part:
    """Writes frames to a file, which appears when it is complete."""

    def __init__(self, path: Path, first: Any, suffix: str) -> None:
        self._path = path
        self._content = io.BytesIO()
        self._container = av.open(self._content, "w", format=PARTS)
        codec = CODECS[suffix]
        stream = self._container.add_stream(codec.name, options=dict(codec.options))
        self._stream = cast(VideoStream, stream)
        turned = round(first.rotation / 90) % 2
        width, height = (first.width, first.height)[:: -1 if turned else 1]
        self._stream.width, self._stream.height = width, height
        self._stream.pix_fmt = codec.choose_format(first.format)
        context = self._stream.codec_context
        context.time_base = self._stream.time_base = first.time_base
        context.colorspace, context.color_range = first.colorspace, first.color_range
        context.color_primaries, context.color_trc = first.color_primaries, first.color_trc

    def add(self, image: Frame, like: Any) -> None:
        """Add a frame, with the timing of the original one."""
        kind = "rgb24" if image.dtype == np.uint8 else "rgb48le"
        frame = av.VideoFrame.from_ndarray(image, format=kind).reformat(
            format=self._stream.pix_fmt,
            dst_colorspace=like.colorspace,
            dst_color_range=like.color_range,
        )
        frame.pts, frame.time_base = like.pts, like.time_base
        self._container.mux(self._stream.encode(frame))

    def finish(self) -> None:
        self._container.mux(self._stream.encode(None))
        self._container.close()
        write_atomic(self._path, [self._content.getvalue()])


def _join(parts: list[Path], source: Path, joined: Path) -> None:
    """Join the parts, and add the original's sound."""
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
        packets = [_packets(parts, video, _last_duration(source))]
        if sounds:
            packets.append(_sound(original, sounds))
        for _, packet in heapq.merge(*packets, key=lambda timed: timed[0]):
            container.mux(packet)
    with joined.open("rb") as file:
        os.fsync(file.fileno())


def _packets(parts: list[Path], stream: Any, last: float) -> Iterator[tuple[float, Any]]:
    """Yield the frames of all parts; each lasts until the next one, the last for `last`."""
    held: Any = None
    for part in parts:
        with av.open(str(part)) as container:
            for packet in container.demux(video=0):
                if packet.dts is None or packet.pts is None:
                    continue
                if held is not None:
                    held.duration = round(
                        (packet.pts * packet.time_base - held.pts * held.time_base) / held.time_base
                    )
                    yield float(held.dts * held.time_base), held
                packet.stream = stream
                held = packet
    held.duration = round(last / held.time_base)
    yield float(held.dts * held.time_base), held


def _last_duration(source: Path) -> float:
    """Return the duration of a video's last frame in seconds, according to its container."""
    with av.open(str(source)) as container:
        stream = _video_of(container, source)
        count, last, duration = 0, 0, 0
        for packet in container.demux(stream):
            if packet.pts is not None:
                count += 1
                last, duration = max((last, duration), (packet.pts, packet.duration or 0))
        if stream.duration and count >= stream.frames:  # otherwise it is cut off
            # Packet durations refer to decoding order.
            duration = (stream.start_time or 0) + stream.duration - last
        return max(0.0, float(duration * stream.time_base))


def _sound(original: Any, streams: dict[int, Any]) -> Iterator[tuple[float, Any]]:
    for packet in original.demux(list(original.streams.audio)):
        if packet.dts is not None:
            packet.stream = streams[packet.stream.index]
            yield float(packet.dts * packet.time_base), packet


def _video_of(container: Any, path: Path) -> Any:
    if not container.streams.video:
        raise BadInputError(f"{path}: contains no video")
    stream = container.streams.video[0]
    stream.thread_type = "AUTO"
    return stream
