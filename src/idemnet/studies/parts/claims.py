"""Claims of the paper, to be checked against measurements."""

from collections.abc import Iterator
from dataclasses import dataclass

from idemnet.steps.metrics import Metrics
from idemnet.studies.parts import results
from idemnet.studies.parts.results import Curve, Measure

NETWORKS = {
    "idempotent": "the idempotent network",
    "dmphn": "DMPHN",
    "mtrnn": "MT-RNN",
    "unet": "the gated U-shape",
}


@dataclass(frozen=True)
class Claim:
    """One cell is better than another, by a measure."""

    text: str
    better: str
    worse: str | None
    """None: better than zero."""
    measure: Measure
    """Higher is better."""
    unit: str = "dB"

    def each(self, _: Metrics | None) -> "Iterator[Claim]":
        yield self


@dataclass(frozen=True)
class ClaimAtEach:
    """The same claim at each level, noise strength or pass."""

    text: str
    """Text with {} for the level, strength or pass."""
    better: str
    worse: str
    measured: Curve

    def each(self, metrics: Metrics | None) -> Iterator[Claim]:
        for key in self.measured(metrics) if metrics else ():
            yield Claim(self.text.format(key), self.better, self.worse, self._at(key))

    def _at(self, key: str) -> Measure:
        return lambda metrics: self.measured(metrics)[key]


def kept(metrics: Metrics) -> float:
    """Return the negative loss by repeated passes."""
    return -results.loss(metrics)


def raises_psnr(*networks: str) -> tuple[Claim, ...]:
    """Return claims that the constraint raises the PSNR of networks."""
    return _of_constraint("The constraint raises the PSNR of {}", results.psnr, networks)


def loses_less_by_repeating(*networks: str) -> tuple[Claim, ...]:
    """Return claims that networks lose less by repeating with the constraint."""
    return _of_constraint("With the constraint {} loses less by repeating", kept, networks)


def _of_constraint(text: str, measure: Measure, networks: tuple[str, ...]) -> tuple[Claim, ...]:
    return tuple(
        Claim(text.format(NETWORKS[one]), one, f"{one}_without", measure) for one in networks
    )
