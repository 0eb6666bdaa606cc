"""Dehazing: haze is added to clear frames by their depth."""

from functools import partial

import numpy as np

from idemnet.errors import BadInputError
from idemnet.imaging.haze import make_hazy
from idemnet.imaging.image import Image, LazyDepth
from idemnet.parameters.synthesize import HazeParameters
from idemnet.parameters.task import TaskParameters
from idemnet.steps.data import RawData
from idemnet.steps.mix import for_each_source
from idemnet.steps.pairs import Versions, plan_ready_pairs, plan_versions
from idemnet.steps.plan import Plan, step
from idemnet.tasks.task import Sample, Task, Words

VERSION = 1
"""Of the synthesis; raise it when the same inputs give other pairs."""


class DehazeParameters(TaskParameters):
    synthesize: HazeParameters


@for_each_source("synthesize")
@step("synthesize haze", VERSION)
def synthesize_haze(raw: RawData, haze: HazeParameters) -> Plan:
    """Add haze to the middle frame of each sequence; ready-made pairs are used in place.

    Raises:
        BadInputError: If a sequence has no depth map, or a pair does not fit.
    """
    if not raw.sequences:
        return plan_ready_pairs(raw)
    missing = [one for one in raw.sequences if (one.split, one.name) not in raw.depths]
    if missing:
        raise BadInputError(
            f"haze needs depth, but {len(missing)} sequences have no depth map; the first missing "
            f"one is depth/{missing[0].split}/{missing[0].name}.png"
        )
    chosen = [
        Versions(
            sequence=sequence,
            frames=(len(sequence.frames) // 2,),
            word="hazy",
            levels=haze.levels,
            seed=haze.seed,
            degrade=partial(_hazy, raw.depths[sequence.split, sequence.name], haze),
        )
        for sequence in raw.sequences
    ]
    return plan_versions(raw, chosen)


def _hazy(
    depth: LazyDepth,
    haze: HazeParameters,
    clean: Image,
    strength: float,
    rng: np.random.Generator,
) -> Image:
    distance = depth()
    if distance.shape != clean.shape[:2]:
        raise BadInputError(
            f"a depth map of {distance.shape[1]}x{distance.shape[0]} pixels does not fit its frame "
            f"of {clean.shape[1]}x{clean.shape[0]}"
        )
    return make_hazy(clean, distance, haze, strength, rng)


def add_haze(image: Image) -> Image:
    """Add haze to a photograph, with depth increasing towards the top."""
    height, width = image.shape[:2]
    depth = np.repeat(np.linspace(1, 0.2, height, dtype=np.float32)[:, None], width, axis=1)
    return make_hazy(image, depth, HazeParameters(), 0.5, np.random.default_rng(0))


TASK = Task(
    name="dehaze",
    verb="Remove haze",
    words=Words("Dehazing", "hazy", "clean"),
    parameters=DehazeParameters,
    synthesize=synthesize_haze,
    protocols=("rgb", "griddehaze"),
    samples=(Sample("china", "hazy palace", add_haze),),
)
