"""Not in the paper: gain against the number of updates, with and without the constraint.

Lengths are set in conf/; at full size nothing is longer or shorter.
"""

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

LENGTHS = ("short", "idempotent", "long")
LINES = {"without the constraint": "_without", "with the constraint": ""}
"""Suffixes of the cells, by label."""


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
    return [StudyTable(head, tuple(rows))]


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
        for cell, when in zip(LENGTHS, (", trained shorter", "", ", trained longer"), strict=True)
    ),
)
