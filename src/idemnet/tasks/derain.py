"""Deraining: streaks of rain are drawn over clean frames."""

from functools import partial

import numpy as np

from idemnet.imaging.image import Image
from idemnet.imaging.rain import make_rainy
from idemnet.parameters.synthesize import RainParameters
from idemnet.parameters.task import TaskParameters
from idemnet.steps.data import RawData
from idemnet.steps.mix import for_each_source
from idemnet.steps.pairs import Versions, plan_ready_pairs, plan_versions
from idemnet.steps.plan import Plan, step
from idemnet.tasks.task import Sample, Task, Words

VERSION = 1
"""Of the synthesis; raise it when the same inputs give other pairs."""


class DerainParameters(TaskParameters):
    synthesize: RainParameters


@for_each_source("synthesize")
@step("synthesize rain", VERSION)
def synthesize_rain(raw: RawData, rain: RainParameters) -> Plan:
    """Add rain to frames of each sequence; ready-made pairs are checked and used in place.

    Raises:
        BadInputError: If a pair does not fit.
    """
    if not raw.sequences:
        return plan_ready_pairs(raw)
    chosen = [
        Versions(
            sequence=sequence,
            frames=_every(rain.stride, len(sequence.frames)),
            word="rainy",
            levels=rain.levels,
            seed=rain.seed,
            degrade=partial(_rainy, rain),
        )
        for sequence in raw.sequences
    ]
    return plan_versions(raw, chosen)


def _rainy(rain: RainParameters, clean: Image, strength: float, rng: np.random.Generator) -> Image:
    return make_rainy(clean, rain, strength, rng)


def _every(stride: int, length: int) -> tuple[int, ...]:
    """Return the middle of every `stride` frames, or of a shorter sequence."""
    return tuple(range(stride // 2, length, stride)) or (length // 2,)


def add_rain(image: Image) -> Image:
    return make_rainy(image, RainParameters(), 0.4, np.random.default_rng(0))


TASK = Task(
    name="derain",
    verb="Remove rain",
    words=Words("Deraining", "rainy", "clean"),
    parameters=DerainParameters,
    synthesize=synthesize_rain,
    protocols=("rain", "rgb"),
    samples=(Sample("chelsea", "rainy cat", add_rain),),
)
