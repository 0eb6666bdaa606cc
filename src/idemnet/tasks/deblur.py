"""Deblurring: blur is synthesized by averaging frames of high-frame-rate sequences."""

import logging
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Self

import cv2
import numpy as np
from pydantic import model_validator

from idemnet.imaging.blur import Centre, average_windows, blur_sequence, find_centres
from idemnet.imaging.image import FrameSequence, Image
from idemnet.imaging.motion import draw_camera
from idemnet.parameters.synthesize import BlurParameters
from idemnet.parameters.task import TaskParameters
from idemnet.steps.data import RawData
from idemnet.steps.mix import for_each_source
from idemnet.steps.pairs import ROLES, about_pairs, describe_pair, plan_ready_pairs
from idemnet.steps.plan import Plan, step
from idemnet.storage.executor import Job
from idemnet.tasks.task import Sample, Task, Words

logger = logging.getLogger(__name__)

VERSION = 1
"""Of the synthesis; raise it when the same inputs give other pairs."""
SHAKE_FRAMES = 15
"""Number of frames averaged for the page's sample."""


class DeblurParameters(TaskParameters):
    synthesize: BlurParameters

    @model_validator(mode="after")
    def _built_in_scenes_are_long_enough(self) -> Self:
        for key, source, synthesize, _ in self.preparations():
            frames, widest = source.builtin.frames, synthesize.levels[-1]
            centred = source.kind == "builtin" and synthesize.windows == "centred"
            if centred and frames < widest:
                raise ValueError(
                    f"{key}.builtin.frames = {frames} must be at least the widest level, {widest}"
                )
        return self


@for_each_source("synthesize")
@step("synthesize", VERSION)
def synthesize_blur(raw: RawData, synthesis: BlurParameters) -> Plan:
    """Blur around each centre at every level; ready-made pairs are checked and used in place.

    Raises:
        BadInputError: If a sequence is shorter than the widest window, or a pair does not fit.
    """
    if not raw.sequences:
        blurred = "blur" if synthesis.response == "linear" else "blur_gamma"
        return plan_ready_pairs(raw, {**ROLES, "gopro": (blurred, "sharp")})
    jobs, rows, dropped = [], [], 0
    for sequence in raw.sequences:
        centres, without_room = find_centres(sequence, synthesis)
        dropped += without_room
        size = sequence.size()
        rows += [
            describe_pair(
                sequence,
                size,
                centre.frame,
                level,
                degraded=_blurred_name(sequence, centre, level),
                clean=_sharp_name(sequence, centre),
            )
            for centre in centres
            for level in centre.levels
        ]
        names = [name for centre in centres for name in _names(sequence, centre)]
        jobs.append(Job(tuple(names), partial(_blur, sequence, centres, synthesis)))
    if dropped:
        logger.info("skipped %d centres whose widest window does not fit", dropped)
    return Plan(jobs, {**about_pairs(raw, rows), "centres_without_room": dropped})


def _blur(
    sequence: FrameSequence,
    centres: Sequence[Centre],
    synthesis: BlurParameters,
    wanted: Collection[str],
) -> Iterator[tuple[str, Image]]:
    missing = set(wanted)
    centres = [centre for centre in centres if missing.intersection(_names(sequence, centre))]
    for centre, sharp, blurred in blur_sequence(sequence, centres, synthesis.response):
        yield _sharp_name(sequence, centre), sharp
        for level, image in blurred:
            yield _blurred_name(sequence, centre, level), image


def _names(sequence: FrameSequence, centre: Centre) -> list[str]:
    blurred = [_blurred_name(sequence, centre, level) for level in centre.levels]
    return [_sharp_name(sequence, centre), *blurred]


def _sharp_name(sequence: FrameSequence, centre: Centre) -> str:
    return f"{sequence.split}/{sequence.name}/sharp/{sequence.frames[centre.frame]}.png"


def _blurred_name(sequence: FrameSequence, centre: Centre, level: int) -> str:
    frame = sequence.frames[centre.frame]
    return f"{sequence.split}/{sequence.name}/blurred_{level:02d}/{frame}.png"


def shake(image: Image) -> Image:
    """Blur a photograph by camera shake."""
    height, width = image.shape[:2]
    middle = np.array([width, height]) / 2
    camera = draw_camera(np.random.default_rng(3), 1.0, SHAKE_FRAMES // 2, max(middle))
    frames = []
    for moment in range(SHAKE_FRAMES):
        pose = camera.view.at(moment)
        around_middle = np.column_stack([pose.linear, pose.shift + middle - pose.linear @ middle])
        warped = cv2.warpAffine(
            image, around_middle, (width, height),
            flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT_101,
        )  # fmt: skip
        frames.append(np.asarray(warped, np.uint8))
    [(_, blurred)] = average_windows(frames, (SHAKE_FRAMES,), "linear")
    return blurred


TASK = Task(
    name="deblur",
    verb="Remove blur",
    words=Words("Deblurring", "blurred", "sharp", level="frames averaged"),
    parameters=DeblurParameters,
    synthesize=synthesize_blur,
    protocols=("gopro", "realblur", "rgb"),
    samples=(
        Sample("chelsea", "blurred cat", shake),
        Sample("china", "blurred palace", shake),
    ),
)
