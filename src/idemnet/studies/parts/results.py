"""Numbers over seeds, and accessors for a study's outcomes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev
from typing import Any

from idemnet.steps.metrics import Metrics
from idemnet.steps.study import Outcome, StudyResults

Measure = Callable[[Metrics], float]
Curve = Callable[[Metrics], Mapping[str, float]]
"""PSNR by level, strength of noise or pass."""

FAILED = "failed"


@dataclass(frozen=True)
class Numbers:
    """A number measured with each seed."""

    values: tuple[float, ...]
    digits: int = 2

    @property
    def mean(self) -> float:
        return fmean(self.values)

    @property
    def spread(self) -> float | None:
        """Return the standard deviation, if there are several seeds."""
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def text(self) -> str:
        """Format the mean with its spread, unless that is zero."""
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
    def run(self) -> set[str]:
        """Return the cells that were part of this run, failed ones too."""
        return {outcome.cell for outcome in self.results.outcomes}

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
        """Return the sequences that were scored separately; an empty name means all."""
        return list(dict.fromkeys(outcome.sequence for outcome in self.results.outcomes))

    @cached_property
    def on_restored(self) -> set[str]:
        """Return the cells whose input was restored by another one."""
        return {name_of(outcome) for outcome in self.results.outcomes if outcome.after}

    def metrics(self, cell: str) -> dict[int, Metrics]:
        """Return the metrics of each seed."""
        return {
            outcome.seed: outcome.metrics
            for outcome in self.results.outcomes
            if name_of(outcome) == cell and outcome.metrics is not None
        }

    def updates(self, cell: str) -> int | None:
        """Return the length of a cell's training, if it is known."""
        found = (one.updates for one in self.results.outcomes if name_of(one) == cell)
        return next((updates for updates in found if updates), None)

    def numbers(self, cell: str, measure: Measure, digits: int = 2) -> Numbers | str:
        """Return a cell's numbers, or a note that it failed."""
        found = self.metrics(cell)
        return Numbers(tuple(map(measure, found.values())), digits) if found else FAILED

    def curve(self, cell: str, curve: Curve) -> dict[str, Numbers]:
        """Return a cell's numbers by level, noise or pass."""
        found = [curve(metrics) for metrics in self.metrics(cell).values()]
        if not found:
            return {}
        return {key: Numbers(tuple(one[key] for one in found)) for key in found[0]}

    @cached_property
    def any_metrics(self) -> Metrics | None:
        """Return the first metrics: data, protocol and device are the same in all."""
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
        """Return the settings that all trainings share, except for the seed."""
        trained = [outcome.settings for outcome in self.results.outcomes if outcome.settings]
        if not trained:
            return {}
        return {
            name: value
            for name, value in trained[0].items()
            if name != "train.seed" and all(one.get(name) == value for one in trained)
        }


def name_of(outcome: Outcome) -> str:
    """Return a cell's name, with the sequence if it was scored on one."""
    return f"{outcome.cell}@{outcome.sequence}" if outcome.sequence else outcome.cell


def psnr(metrics: Metrics) -> float:
    return metrics.restored.psnr


def ssim(metrics: Metrics) -> float:
    return metrics.restored.similarity


def gain(metrics: Metrics) -> float:
    return metrics.gain


def loss(metrics: Metrics) -> float:
    return metrics.repeat.loss


def change(metrics: Metrics) -> float:
    """Return the mean change by the first pass, of 255; near zero if collapsed to the identity."""
    return metrics.iterations.first.change


def parameters(metrics: Metrics) -> float:
    return metrics.cost.parameters


def macs(metrics: Metrics) -> float:
    return metrics.cost.macs["1280x720"] / 1e9


def macs_256(metrics: Metrics) -> float:
    return metrics.cost.macs["256x256"] / 1e9


def seconds(metrics: Metrics) -> float:
    return metrics.cost.seconds.median


def by_level(metrics: Metrics) -> dict[str, float]:
    return {level: scores.restored.psnr for level, scores in metrics.levels.items()}


def by_noise(metrics: Metrics) -> dict[str, float]:
    return {sigma: scores.restored.psnr for sigma, scores in metrics.noise.items()}


def by_pass(metrics: Metrics) -> dict[str, float]:
    return {str(number): value for number, value in enumerate(metrics.repeat.psnr, 1)}
