"""Dehazing: haze is added to clear frames by their depth."""

from functools import partial

import numpy as np

from idemnet.errors import BadInputError
from idemnet.imaging.haze import make_hazy
from idemnet.imaging.image import Image, LazyDepth
from idemnet.parameters.synthesize import HazeParameters
from idemnet.parameters.task import TaskParameters
from idemnet.steps import versions
from idemnet.steps.data import RawData
from idemnet.steps.pairs import Versions, plan_ready_pairs, plan_versions
from idemnet.steps.plan import Plan, Recipe, fingerprint
from idemnet.tasks.task import Sample, Task, Words


class DehazeParameters(TaskParameters):
    synthesize: HazeParameters


def synthesize_haze(raw: RawData, haze: HazeParameters) -> Recipe:
    """Add haze to the middle frame of each sequence, by its depth; pairs pass through, checked.

    Raises:
        BadInputError: If a sequence has no depth map, or a pair does not fit.
    """
    identity = fingerprint("synthesize haze", versions.SYNTHESIZE["dehaze"], haze, raw.fingerprint)
    if not raw.sequences:
        return Recipe(identity, partial(plan_ready_pairs, raw))
    return Recipe(identity, partial(_plan_haze, raw, haze))


def _plan_haze(raw: RawData, haze: HazeParameters) -> Plan:
    missing = [one for one in raw.sequences if (one.split, one.name) not in raw.depths]
    if missing:
        raise BadInputError(
            f"haze needs depth, but {len(missing)} sequences have no depth map, the first is to be "
            f"depth/{missing[0].split}/{missing[0].name}.png"
        )
    return plan_versions(
        Versions(
            sequence=sequence,
            frames=(len(sequence.frames) // 2,),
            word="hazy",
            levels=haze.levels,
            seed=haze.seed,
            degrade=partial(_hazy, raw.depths[sequence.split, sequence.name], haze),
        )
        for sequence in raw.sequences
    )


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
    """Let what is higher in the picture be farther away."""
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
