"""Blur by averaging frames, like a longer exposure."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from idemnet.errors import BadInputError
from idemnet.imaging.image import FrameSequence, Image
from idemnet.parameters.synthesize import BlurParameters

GAMMA = 2.2

Response = Literal["linear", "gamma"]
Sums = NDArray[Any]
"""uint16 of stored values, or float64 of linear light."""


@dataclass(frozen=True)
class Centre:
    """A frame that becomes a sharp image, and the lengths of the windows averaged around it."""

    frame: int
    levels: tuple[int, ...]

    @property
    def first(self) -> int:
        return self.frame - self.levels[-1] // 2

    @property
    def last(self) -> int:
        return self.frame + self.levels[-1] // 2


def find_centres(sequence: FrameSequence, synthesis: BlurParameters) -> tuple[list[Centre], int]:
    """Choose the frames to blur around, and count those whose widest window does not fit.

    Raises:
        BadInputError: If the sequence is shorter than the widest window.
    """
    length = len(sequence.frames)
    if synthesis.windows == "official":
        stride = _official_window(sequence.name)
        levels: tuple[int, ...] = (stride,)
    else:
        stride, levels = synthesis.stride, synthesis.levels
    widest = levels[-1]
    if length < widest:
        raise BadInputError(
            f"sequence {sequence.name} has {length} frames, fewer than the window of {widest}"
        )
    # The middles of disjoint runs of `stride` frames: where GOPRO_Large has its sharp images.
    candidates = [Centre(middle, levels) for middle in range(stride // 2, length, stride)]
    fitting = [centre for centre in candidates if centre.first >= 0 and centre.last < length]
    dropped = len(candidates) - len(fitting)
    # A sequence that is long enough for one image yields one.
    return fitting or [Centre(length // 2, levels)], dropped


def _official_window(name: str) -> int:
    window = frames_averaged(name)
    if window is None or window % 2 == 0:
        raise BadInputError(
            f"sequence {name}: windows are 'official', but the name does not say how many frames "
            "were averaged, as GOPR0372_07_00 does (an odd number)"
        )
    return window


def blur_sequence(
    sequence: FrameSequence, centres: Sequence[Centre], response: Response
) -> Iterator[tuple[Centre, Image, Iterator[tuple[int, Image]]]]:
    """Decode each frame once, in order, and yield each centre's sharp and blurred images.

    Holds no more frames than the widest window has.
    """
    # Centres ascend and have equal windows, so one pass over the frames serves them in turn;
    # unneeded frames are decoded too, because videos can only be read forward.
    window: deque[Image] = deque(maxlen=centres[0].levels[-1])
    waiting = deque(centres)
    start = centres[0].first
    for number, frame in enumerate(sequence.read(start, centres[-1].last + 1), start):
        if window and frame.shape != window[0].shape:
            raise BadInputError(
                f"sequence {sequence.name}: frame {sequence.frames[number]} has another size "
                "than the frames before it"
            )
        window.append(frame)
        if number == waiting[0].last:
            centre = waiting.popleft()
            yield centre, window[len(window) // 2], average_windows(window, centre.levels, response)


def average_windows(
    frames: Sequence[Image], levels: Sequence[int], response: Response
) -> Iterator[tuple[int, Image]]:
    """Average increasing windows around the middle frame; each extends the previous sums."""
    middle = len(frames) // 2
    sums = _light(frames[middle], response)
    for level in range(1, levels[-1] + 1, 2):
        if level > 1:
            sums += _light(frames[middle - level // 2], response)
            sums += _light(frames[middle + level // 2], response)
        if level in levels:
            yield level, _mean(sums, level, response)


_LIGHT = (np.arange(256) / 255.0) ** GAMMA


def _light(frame: Image, response: Response) -> Sums:
    # 16 bits can hold the sum of 257 8-bit frames.
    return _LIGHT[frame] if response == "gamma" else frame.astype(np.uint16)


def _mean(sums: Sums, level: int, response: Response) -> Image:
    if response == "gamma":
        return np.rint((sums / level) ** (1 / GAMMA) * 255.0).astype(np.uint8)
    # Rounded in integers; a tie cannot happen, because the level is odd.
    return ((sums + np.uint16(level // 2)) // np.uint16(level)).astype(np.uint8)


def frames_averaged(sequence: str) -> int | None:
    """Return the number of averaged frames in a GoPro sequence's name (GOPR0372_07_00)."""
    match = re.search(r"_(\d+)_\d+$", sequence)
    return int(match[1]) if match else None
