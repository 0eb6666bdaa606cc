"""Figures over seeds, and where a study's outcomes keep them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev
from typing import Any

from idemnet.steps.study import Outcome, StudyResults

Metrics = Mapping[str, Any]
Measure = Callable[[Metrics], float]

FAILED = "failed"


@dataclass(frozen=True)
class Numbers:
    """The same figure with every seed."""

    values: tuple[float, ...]
    digits: int = 2

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def spread(self) -> float | None:
        """Standard deviation, where there are several."""
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def text(self) -> str:
        """With its spread, unless that is nothing: counts are the same with every seed."""
        mean = f"{self.mean:,.{self.digits}f}"
        return f"{mean} ± {self.spread:.{self.digits}f}" if self.spread else mean


@dataclass(frozen=True)
class Cells:
    """A study's outcomes, by cell."""

    results: StudyResults

    @cached_property
    def names(self) -> list[str]:
        return list(dict.fromkeys(map(name_of, self.results.outcomes)))

    @cached_property
    def labels(self) -> dict[str, str]:
        return {
            name_of(outcome): f"{outcome.label}: {outcome.sequence}"
            if outcome.sequence
            else outcome.label
            for outcome in self.results.outcomes
        }

    @cached_property
    def sequences(self) -> list[str]:
        """Those that were scored apart; one without a name stands for all."""
        return list(dict.fromkeys(outcome.sequence for outcome in self.results.outcomes))

    @cached_property
    def on_restored(self) -> set[str]:
        """Cells that were given what another one has restored."""
        return {name_of(outcome) for outcome in self.results.outcomes if outcome.after}

    def metrics(self, cell: str) -> dict[int, Metrics]:
        """Return what was measured with each seed."""
        return {
            outcome.seed: outcome.metrics
            for outcome in self.results.outcomes
            if name_of(outcome) == cell and outcome.metrics is not None
        }

    def numbers(self, cell: str, measure: Measure, digits: int = 2) -> Numbers | str:
        """Return a figure of a cell, or say that it failed."""
        found = self.metrics(cell)
        return Numbers(tuple(map(measure, found.values())), digits) if found else FAILED

    @cached_property
    def any_metrics(self) -> Metrics | None:
        """Of the first cell that has some: data, protocol and device are the same in all."""
        return next((one.metrics for one in self.results.outcomes if one.metrics is not None), None)

    @cached_property
    def seeds(self) -> int:
        return len({outcome.seed for outcome in self.results.outcomes})

    @cached_property
    def failures(self) -> list[str]:
        return [
            f"{outcome.label}, seed {outcome.seed}: {outcome.failure}"
            for outcome in self.results.outcomes
            if outcome.metrics is None
        ]

    @cached_property
    def shared_settings(self) -> dict[str, Any]:
        """What all trainings of the study have in common, the seed apart."""
        trained = [outcome.settings for outcome in self.results.outcomes if outcome.settings]
        if not trained:
            return {}
        return {
            name: value
            for name, value in trained[0].items()
            if name != "train.seed" and all(one.get(name) == value for one in trained)
        }


def name_of(outcome: Outcome) -> str:
    """Name a cell, and the sequence where it was scored on one."""
    return f"{outcome.cell}@{outcome.sequence}" if outcome.sequence else outcome.cell


def psnr(metrics: Metrics) -> float:
    return float(metrics["restored"]["psnr"])


def ssim(metrics: Metrics) -> float:
    """MATLAB's where the protocol has it: the papers' tables are in it."""
    scores = metrics["restored"]
    return float(scores.get("ssim_matlab", scores["ssim"]))


def gain(metrics: Metrics) -> float:
    return float(metrics["restored"]["psnr"] - metrics["input"]["psnr"])


def loss(metrics: Metrics) -> float:
    """Return what repeating costs, from the first pass to the last."""
    curve = metrics["repeat"]["psnr"]
    return float(curve[0] - curve[-1])


def change(metrics: Metrics) -> float:
    """How much the first pass changes, of 255; nearly nothing: it has collapsed to the identity."""
    return float(metrics["iterations"]["first"]["sum"][-1])


def parameters(metrics: Metrics) -> float:
    return float(metrics["cost"]["parameters"])


def macs(metrics: Metrics) -> float:
    return float(metrics["cost"]["macs"]["1280x720"]) / 1e9


def seconds(metrics: Metrics) -> float:
    return float(metrics["cost"]["seconds"]["median"])
