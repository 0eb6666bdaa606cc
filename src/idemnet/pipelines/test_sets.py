"""Test-only data sets of studies: pairs as published, or frames to be blurred at every level."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kedro.pipeline import Pipeline, node

from idemnet.imaging.image import FrameSequence, Image, Split
from idemnet.parameters.synthesize import BlurParameters
from idemnet.pipelines.download import download
from idemnet.steps import versions
from idemnet.steps.data import RawData
from idemnet.steps.mix import Mix
from idemnet.steps.pairs import plan_ready_pairs
from idemnet.steps.plan import Plan, Recipe, step
from idemnet.tasks.deblur import synthesize_blur

EVERY_SECOND_FRAME = BlurParameters(stride=2)
"""Levels 5 to 15 around every second frame: filmed test sequences are short."""


@dataclass(frozen=True)
class AsTest:
    """A sequence of a test-only data set, whatever split its folder is named after."""

    sequence: FrameSequence
    split: Split = "test"

    @property
    def name(self) -> str:
        return self.sequence.name

    @property
    def frames(self) -> Sequence[str]:
        return self.sequence.frames

    def size(self) -> tuple[int, int]:
        return self.sequence.size()

    def read(self, start: int, stop: int) -> Iterator[Image]:
        return self.sequence.read(start, stop)


def pair_up(raw: RawData) -> Recipe | Mix[Recipe]:
    """Return the pairs of a test-only data set: as published, or frames at levels of blur."""
    if not raw.sequences:
        return ready_pairs(raw)
    frames = replace(raw, sequences=[AsTest(one) for one in raw.sequences])
    return synthesize_blur(frames, EVERY_SECOND_FRAME)


@step("ready pairs", versions.READY_PAIRS)
def ready_pairs(raw: RawData) -> Plan:
    """Return the pairs of a test-only data set."""
    return plan_ready_pairs(raw)


def create_test_set(name: str) -> Pipeline:
    """Build the steps of a test-only data set."""
    raw, pairs = f"{name}_raw", f"{name}_pairs"
    return Pipeline(
        [
            node(download, f"params:{name}", raw, name=f"find_{name}"),
            node(pair_up, raw, pairs, name=f"pair_{name}"),
        ]
    )
