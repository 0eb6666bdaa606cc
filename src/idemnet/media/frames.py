"""High-frame-rate videos, decoded in place, one frame at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import av
import imageio.v3 as iio

from idemnet.errors import BadInputError
from idemnet.imaging.image import Image, Split

SUFFIXES = (".mp4", ".mov")


@dataclass(frozen=True)
class Video:
    """A video file as a sequence."""

    path: Path
    split: Split
    name: str
    length: int
    height: int
    width: int

    @cached_property
    def frames(self) -> list[str]:
        return [f"{number:06d}" for number in range(self.length)]

    def size(self) -> tuple[int, int]:
        return self.height, self.width

    def read(self, start: int, stop: int) -> Iterator[Image]:
        frames = iio.imiter(self.path, plugin="pyav", thread_type="FRAME")
        number = start
        for frame in islice(frames, start, stop):
            yield frame
            number += 1
        if number < stop:
            raise BadInputError(f"{self.path}: ends after {number} of {self.length} frames")


def open_video(path: Path, split: Split) -> Video:
    """Count a video's frames without decoding them."""
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            length = sum(packet.size > 0 for packet in container.demux(stream))
            height, width = stream.codec_context.height, stream.codec_context.width
    except (av.FFmpegError, IndexError) as error:
        raise BadInputError(f"{path}: cannot be read as a video ({error})") from error
    return Video(path, split, path.stem, length, height, width)
