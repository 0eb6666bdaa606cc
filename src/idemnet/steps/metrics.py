"""Typed results of `evaluate`: scores of each image, and their summary, metrics.json."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from idemnet.imaging import metrics

METRICS, TIMING = "metrics.json", "timing.json"
TIMED = {"seconds", "peak_memory_mb", "device_name"}
"""Fields of the cost that differ between runs or machines; kept out of metrics.json."""
IDENTITY = 0.1
"""A network whose mean change (of 255) is below this has collapsed to the identity."""


class Model(BaseModel):
    """Base of all results; JSON keys are the fields, in order."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Scores(Model):
    psnr: float
    ssim: float
    ssim_matlab: float | None = None
    """Only for protocols that have it, and for the first pass."""

    @property
    def similarity(self) -> float:
        """Return MATLAB's SSIM if the protocol has it, as in published tables, else SSIM."""
        return self.ssim if self.ssim_matlab is None else self.ssim_matlab

    @model_serializer(mode="wrap")
    def _leave_out_missing(self, write: SerializerFunctionWrapHandler) -> dict[str, float]:
        return {name: value for name, value in write(self).items() if value is not None}


class MeanScores(Scores):
    images: int
    """Number of images behind the means."""


class BeforeAndAfter(Protocol):
    @property
    def input(self) -> Scores: ...

    @property
    def restored(self) -> Scores: ...


class Gained:
    """Scores before and after restoring."""

    @property
    def gain(self: BeforeAndAfter) -> float:
        return metrics.gain(self.input.psnr, self.restored.psnr)


class Restoration(Gained, Model):
    input: Scores
    restored: Scores


class MeanRestoration(Gained, Model):
    input: MeanScores
    restored: MeanScores


class Curve(Model):
    """Scores after each pass."""

    psnr: list[float]
    ssim: list[float]


class MeanCurve(Model):
    chain: str
    images: int
    psnr: list[float]
    ssim: list[float]

    @property
    def loss(self) -> float:
        return metrics.loss(self.psnr)


class Iterations(Model):
    """One pass, iteration by iteration."""

    psnr: list[float]
    every: list[float]
    """Mean change by each iteration, of 255."""
    sum: list[float]
    """Cumulative mean change."""

    @property
    def change(self) -> float:
        return self.sum[-1]


class Passes(Model):
    first: Iterations
    second: Iterations


class MeanPasses(Model):
    images: int
    first: Iterations
    second: Iterations


class ImageScores(Gained, Model):
    """Scores of one image; those measured in detail have all fields."""

    sequence: str
    frame: str
    level: int
    input: Scores
    restored: Scores
    repeat: Curve | None = None
    iterations: Passes | None = None
    noise: dict[str, Restoration] | None = None
    """By standard deviation."""

    @property
    def name(self) -> str:
        return f"{self.sequence}/{self.frame}"


class Seconds(Model):
    median: float
    p95: float
    runs: int
    height: int
    width: int


class Cost(Model):
    """Cost of a restoration."""

    parameters: int
    macs: dict[str, int | float]
    """By size, `1280x720`."""
    seconds: Seconds
    peak_memory_mb: float
    device: str
    device_name: str


class Metrics(Gained, Model):
    """Means over all test images, or over those measured in detail."""

    task: str
    dataset: str
    protocol: str
    images: int
    device: str
    input: MeanScores
    restored: MeanScores
    levels: dict[str, MeanRestoration]
    sources: dict[str, MeanRestoration] = Field({}, exclude_if=lambda scores: not scores)
    """Of mixed data, by source."""
    repeat: MeanCurve
    iterations: MeanPasses
    noise: dict[str, MeanRestoration]
    """By standard deviation."""
    cost: Cost

    @property
    def is_identity(self) -> bool:
        """Return whether the network has collapsed to the identity."""
        return self.iterations.first.change < IDENTITY

    def to_files(self) -> dict[str, bytes]:
        """Return metrics.json, which is the same on every machine, and timing.json."""
        timing = self.cost.model_dump(include=TIMED)
        return {
            METRICS: to_json(self.model_dump(exclude={"cost": TIMED})),
            TIMING: to_json(timing),
        }

    @classmethod
    def from_files(cls, read: Callable[[str], bytes]) -> Self:
        """Read both files, by name."""
        stored, timing = json.loads(read(METRICS)), json.loads(read(TIMING))
        return cls.model_validate({**stored, "cost": {**stored["cost"], **timing}})


def to_json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()
