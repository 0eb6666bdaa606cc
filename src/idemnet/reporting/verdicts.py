"""Verdicts on the paper's claims: they hold with every seed, with some, or with none."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from idemnet.reporting.formatting import signed
from idemnet.reporting.templates import sentence
from idemnet.studies.parts.claims import Claim, ClaimAtEach
from idemnet.studies.parts.results import Cells


@dataclass(frozen=True)
class Verdict:
    claim: str
    difference: str
    verdict: str


def judge(cells: Cells, claims: Sequence[Claim | ClaimAtEach]) -> list[Verdict]:
    """Return the verdict on each claim about cells that were part of this run."""
    return [
        _judge(cells, claim, on)
        for one in claims
        if {one.better, one.worse or one.better} <= cells.run
        for claim in one.each(cells.any_metrics)
        for on in cells.sequences
    ]


def _judge(cells: Cells, claim: Claim, sequence: str) -> Verdict:
    on = f"@{sequence}" if sequence else ""
    text = f"{claim.text} ({sequence})" if sequence else claim.text
    better = cells.metrics(claim.better + on)
    worse = cells.metrics(claim.worse + on) if claim.worse else better
    seeds = sorted(better.keys() & worse.keys())
    differences = [
        claim.measure(better[seed]) - (claim.measure(worse[seed]) if claim.worse else 0)
        for seed in seeds
    ]
    return Verdict(
        text,
        f"{signed(fmean(differences), 3)} {claim.unit}" if seeds else "",
        sentence(
            "verdict",
            holding=sum(one > 0 for one in differences),
            seeds=len(seeds),
            collapsed=sum(better[seed].is_identity for seed in seeds),
        ),
    )
