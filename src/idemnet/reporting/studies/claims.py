"""What the paper claims, and whether the figures say so: with every seed, with some, with none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from idemnet.reporting.studies import numbers
from idemnet.reporting.studies.layouts import by_level, by_noise
from idemnet.reporting.studies.numbers import Cells, Measure, Metrics
from idemnet.reporting.words import is_identity, signed


@dataclass(frozen=True)
class Claim:
    """One cell is better than another, by a measure."""

    text: str
    better: str
    worse: str | None
    """None: better than nothing at all."""
    measure: Measure
    """The higher, the better."""
    unit: str = "dB"


@dataclass(frozen=True)
class Verdict:
    claim: str
    difference: str
    verdict: str


NETWORKS = {"idempotent": "the idempotent network", "dmphn": "DMPHN", "mtrnn": "MT-RNN"}


def _kept(metrics: Metrics) -> float:
    return -numbers.loss(metrics)


def _stays(metrics: Metrics) -> float:
    """How little a second pass changes, of 255."""
    return -float(metrics["iterations"]["second"]["sum"][-1])


def _of_constraint(text: str, measure: Measure, *networks: str) -> list[Claim]:
    """Claim the same of several networks, with the constraint and without."""
    return [Claim(text.format(NETWORKS[one]), one, f"{one}_without", measure) for one in networks]


RAISES = "The constraint raises the PSNR of {}"
KEEPS = "With the constraint {} loses less by repeating"
OF_OURS = [
    *_of_constraint(RAISES, numbers.psnr, "idempotent"),
    *_of_constraint(KEEPS, _kept, "idempotent"),
]

ABLATION = [
    Claim("Two iterations restore better than one", "b", "a", numbers.psnr),
    Claim("Four iterations restore better than two", "c", "b", numbers.psnr),
    Claim("Six iterations restore better than four", "d", "c", numbers.psnr),
    Claim("Eight iterations restore better than six", "e", "d", numbers.psnr),
    Claim("Feature map recurrence helps", "f", "d", numbers.psnr),
    Claim("Latent code recurrence helps, without the constraint", "i", "f", numbers.psnr),
    Claim("Latent code recurrence helps, with it", "l", "h", numbers.psnr),
    Claim("A second pass without the idempotent loss harms", "i", "j", numbers.psnr),
    Claim("The idempotent loss mends that", "l", "j", numbers.psnr),
    Claim("The constraint raises PSNR", "l", "i", numbers.psnr),
    Claim("Two passes in training restore no worse than three", "l", "k", numbers.psnr),
    Claim("Eight iterations restore better than six, with the constraint", "m", "l", numbers.psnr),
]

CLAIMS: Mapping[str, Sequence[Claim]] = {
    "gopro": [
        *_of_constraint(RAISES, numbers.psnr, "idempotent", "dmphn", "mtrnn"),
        Claim("The idempotent network restores better than DMPHN", "idempotent", "dmphn_without",
              numbers.psnr),
        Claim("It restores better than MT-RNN", "idempotent", "mtrnn_without", numbers.psnr),
    ],
    "ablation": ABLATION,
    "constraint": [
        *_of_constraint(RAISES, numbers.psnr, "dmphn", "mtrnn", "idempotent"),
        *_of_constraint(KEEPS, _kept, "dmphn", "mtrnn", "idempotent"),
    ],
    "longer": [  # is what does not hold for want of training?
        Claim("Two iterations restore better than one", "idempotent_without", "one_iteration",
              numbers.psnr),
        Claim("Trained longer, two iterations restore better than one", "long_without",
              "long_one_iteration", numbers.psnr),
        Claim("The constraint raises PSNR", "idempotent", "idempotent_without", numbers.psnr),
        Claim("Trained longer, the constraint raises PSNR", "long", "long_without", numbers.psnr),
        Claim("Trained longer, less is lost by repeating with the constraint", "long",
              "long_without", _kept),
    ],
    "repeat": [
        *_of_constraint(KEEPS, _kept, "idempotent", "dmphn", "mtrnn"),
        Claim("Images that DMPHN restored lose less in the idempotent network than in DMPHN",
              "idempotent_after_dmphn", "dmphn_after_dmphn", numbers.gain),
        Claim("Images that MT-RNN restored lose less in the idempotent network than in MT-RNN",
              "idempotent_after_mtrnn", "mtrnn_after_mtrnn", numbers.gain),
    ],
    "iterations": [
        Claim("A second pass changes less in the idempotent network than in MT-RNN", "idempotent",
              "mtrnn_without", _stays, "of 255"),
    ],
    "realblur": _of_constraint(RAISES, numbers.psnr, "idempotent"),
    "thermal": [
        Claim("One channel is restored too, with the constraint", "idempotent_grey",
              None, numbers.gain),
        Claim("With the constraint one channel loses less by repeating", "idempotent_grey",
              "idempotent_without_grey", _kept),
    ],
    "dehaze": OF_OURS,
    "derain": OF_OURS,
}  # fmt: skip


def judge(cells: Cells) -> list[Verdict]:
    """Return for each claim whether it holds in a study's figures."""
    return [_judge(cells, claim, on) for claim in _claims(cells) for on in cells.sequences]


def _claims(cells: Cells) -> Iterator[Claim]:
    name = cells.results.name
    yield from CLAIMS.get(name, ())
    curves = {"levels": ("level", by_level), "noise": ("noise", by_noise)}
    if name in curves and cells.any_metrics:
        word, curve = curves[name]
        for key in curve(cells.any_metrics):
            yield Claim(
                f"The constraint raises PSNR at {word} {key}", "idempotent", "idempotent_without",
                lambda metrics, key=key, curve=curve: curve(metrics)[key],  # type: ignore[misc]
            )  # fmt: skip


def _judge(cells: Cells, claim: Claim, sequence: str) -> Verdict:
    on = f"@{sequence}" if sequence else ""
    text = f"{claim.text} ({sequence})" if sequence else claim.text
    better = cells.metrics(claim.better + on)
    worse = cells.metrics(claim.worse + on) if claim.worse else better
    seeds = sorted(better.keys() & worse.keys())
    if not seeds:
        return Verdict(text, "", "not measured")
    differences = [
        claim.measure(better[seed]) - (claim.measure(worse[seed]) if claim.worse else 0)
        for seed in seeds
    ]
    holding = sum(one > 0 for one in differences)
    if holding == len(seeds):
        verdict = "holds"
    elif holding == 0:
        verdict = "does not hold"
    else:
        verdict = "open"
    of = f"{holding} of {len(seeds)} seeds" if len(seeds) > 1 else "one seed"
    collapsed = sum(is_identity(better[seed]) for seed in seeds)
    if collapsed:
        of += f"; collapsed to the identity in {collapsed}"
        verdict = "does not count"
    return Verdict(text, f"{signed(fmean(differences), 3)} {claim.unit}", f"{verdict} ({of})")
