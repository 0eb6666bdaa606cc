"""Not in the paper: gain against the number of updates, with and without the constraint.

Lengths are set in conf/; at full size nothing is longer or shorter.
"""

from collections.abc import Mapping, Sequence
from math import floor, log10
from statistics import linear_regression
from typing import TYPE_CHECKING

from idemnet.studies.parts import results
from idemnet.studies.parts.cells import (
    ALONE,
    IDEMPOTENT,
    IDEMPOTENT_WITHOUT,
    LONG,
    LONG_WITHOUT,
)
from idemnet.studies.parts.claims import Claim
from idemnet.studies.parts.figures import COLOURS
from idemnet.studies.parts.results import Cells, Numbers
from idemnet.studies.parts.study import Cell, Study
from idemnet.studies.parts.tables import StudyTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LENGTHS = {
    "shortest": ", trained shortest",
    "short": ", trained shorter",
    "idempotent": "",
    "long": ", trained longer",
}
"""Cells with the constraint, and what a claim says of their length."""
LINES = {"without the constraint": "_without", "with the constraint": ""}
"""Suffixes of the cells, by label."""
FAR = 8
"""Power of ten beyond which an extrapolation says nothing: the paper trains for 10^6 updates."""
MINUS = "\N{MINUS SIGN}"


def by_updates(cells: Cells) -> list[StudyTable]:
    """Return a table of gain and loss by repeating, a row for each length of training."""
    present = [one for one in LENGTHS if one in cells.names and f"{one}_without" in cells.names]
    measures = {"gain, dB": results.gain, "lost by repeating, dB": results.loss}
    rows = [
        (
            f"{updates:,}" if (updates := cells.updates(length)) else length,
            *(
                cells.numbers(length + suffix, measure, 3)
                for measure in measures.values()
                for suffix in LINES.values()
            ),
        )
        for length in present
    ]
    head = ("updates", *(f"{name}, {label}" for name in measures for label in LINES))
    caption = " ".join(
        filter(None, (describe_collapsed(collapsed(cells)), describe_trend(differences(cells))))
    )
    return [StudyTable(head, tuple(rows), caption=caption)]


def collapsed(cells: Cells) -> list[int]:
    """Return the lengths at which the constraint has made a network the identity."""
    return [
        cells.updates(length) or 0
        for length in LENGTHS
        if any(metrics.is_identity for metrics in cells.metrics(length).values())
    ]


def describe_collapsed(lengths: Sequence[int]) -> str:
    """Name the lengths that say nothing about a trend."""
    if not lengths:
        return ""
    updates = " and ".join(f"{one:,}" for one in lengths)
    return (
        f"With the constraint, the network collapsed to the identity at {updates} updates: it "
        "loses nothing by repeating because it restores nothing, and counts in no trend."
    )


def differences(cells: Cells) -> dict[int, tuple[float, float]]:
    """Return the gain without the constraint, and how much more it is with it, by updates.

    Lengths at which the network collapsed to the identity are left out.
    """
    found, left_out = {}, collapsed(cells)
    for length in LENGTHS:
        without, kept = (cells.numbers(length + suffix, results.gain) for suffix in LINES.values())
        updates = cells.updates(length)
        if not updates or updates in left_out:
            continue
        if isinstance(without, Numbers) and isinstance(kept, Numbers):
            found[updates] = (without.mean, kept.mean - without.mean)
    return found


def describe_trend(found: Mapping[int, tuple[float, float]]) -> str:
    """Describe whether the curves with and without the constraint approach each other or cross."""
    if len(found) < 2:
        return "No trend can be seen: it takes two lengths at which the network restores something."
    points = [f"{more:+.3f} dB at {updates:,} updates" for updates, (_, more) in found.items()]
    text = f"With the constraint, gain differs by {', '.join(points)}."
    if all(without > 0 for without, _ in found.values()):
        shares = ", ".join(f"{more / without:+.0%}" for without, more in found.values())
        text += f" As shares of the gain without it: {shares}."
    return f"{text.replace('-', MINUS)} {_describe_meeting(found)}"


def _describe_meeting(found: Mapping[int, tuple[float, float]]) -> str:
    lengths, ahead = list(found), [more > 0 for _, more in found.values()]
    crossings = [at for at in range(1, len(ahead)) if ahead[at] != ahead[at - 1]]
    if crossings:
        where = " and ".join(f"{lengths[at - 1]:,} and {lengths[at]:,}" for at in crossings)
        return f"The curves cross between {where} updates."
    if all(ahead):
        return "The curve with the constraint is ahead at every length."
    slope, start = linear_regression(
        [log10(updates) for updates in found], [more for _, more in found.values()]
    )
    if slope <= 0:
        return (
            "The curves do not approach each other in dB: no number of updates can be extrapolated "
            "at which they would meet."
        )
    meet = -start / slope
    if meet > FAR:
        return (
            "The curves approach each other too slowly to say at what number of updates they "
            "would meet."
        )
    return (
        "The curves approach each other: a straight line through the differences, over the "
        f"logarithm of updates, reaches zero at about {_rounded(10**meet)} updates (extrapolated "
        f"from {len(found)} lengths, far less certain than a measurement)."
    )


def _rounded(number: float) -> str:
    """Format a number with one significant digit."""
    digits = floor(log10(number))
    return f"{round(number, -digits):,.0f}"


def draw(cells: Cells, figure: "Figure") -> None:
    """Draw gain over updates, which are on a log scale."""
    axes = figure.subplots()
    axes.set(title="gain, dB", xlabel="updates", xscale="log")
    for number, (label, suffix) in enumerate(LINES.items()):
        points = [
            (updates, found)
            for length in LENGTHS
            if (updates := cells.updates(length + suffix))
            and isinstance(found := cells.numbers(length + suffix, results.gain), Numbers)
        ]
        axes.errorbar(
            [updates for updates, _ in points],
            [found.mean for _, found in points],
            yerr=[found.spread or 0 for _, found in points],
            marker="o", capsize=3, color=COLOURS[number], label=label,
        )  # fmt: skip
    axes.legend()


STUDY = Study(
    name="budget",
    title="Gain against the number of updates (not in the paper)",
    task="deblur",
    cells=(
        Cell("shortest_without", "idempotent, without, trained shortest", ALONE),
        Cell("shortest", "idempotent, with the constraint, trained shortest"),
        Cell("short_without", "idempotent, without, trained shorter", ALONE),
        Cell("short", "idempotent, with the constraint, trained shorter"),
        IDEMPOTENT_WITHOUT,
        IDEMPOTENT,
        LONG_WITHOUT,
        LONG,
    ),
    tables=by_updates,
    figure=draw,
    claims=tuple(
        Claim(f"The constraint raises PSNR{when}", cell, f"{cell}_without", results.psnr)
        for cell, when in LENGTHS.items()
    ),
)
