"""Figures that several studies share."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from idemnet.studies.parts import results
from idemnet.studies.parts.results import Cells, Curve, Measure, Numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
"""From Okabe and Ito's palette."""
WIDTH = 6.4
"""Size of every figure, in inches."""


def bars(cells: Cells, figure: "Figure") -> None:
    """Draw gain and loss by repeating, one line per cell."""
    figure.set_size_inches(WIDTH, 1.2 + 0.38 * len(cells.names))
    gains, losses = figure.subplots(1, 2, sharey=True)
    _dots(gains, cells, results.gain, "gain, dB")
    _dots(losses, cells, results.loss, "lost by repeating, dB")
    gains.set_yticks(range(len(cells.names)), [cells.labels[cell] for cell in cells.names])
    gains.invert_yaxis()


def _dots(axes: "Axes", cells: Cells, measure: Measure, title: str) -> None:
    axes.set_title(title)
    axes.axvline(0, color="#9a9a9a", linewidth=1)
    for at, cell in enumerate(cells.names):
        found = cells.numbers(cell, measure)
        if isinstance(found, Numbers):
            axes.errorbar(
                [found.mean], [at], xerr=[found.spread or 0], fmt="o", color=COLOURS[0], capsize=3
            )
        else:
            axes.annotate(found, (0, at), va="center", color=COLOURS[1])


def lines(below: str, curve: Curve) -> "Callable[[Cells, Figure], None]":
    """Return a function that draws a line for each cell."""

    def draw(cells: Cells, figure: "Figure") -> None:
        axes = figure.subplots()
        axes.set(title="PSNR, dB", xlabel=below)
        names = [cell for cell in cells.names if cell not in cells.on_restored]
        for number, cell in enumerate(names):
            found = cells.curve(cell, curve)
            if found:
                axes.errorbar(
                    [float(one) for one in found],
                    [one.mean for one in found.values()],
                    yerr=[one.spread or 0 for one in found.values()],
                    # The network without the constraint is dashed.
                    linestyle="--" if cell.endswith("_without") else "-",
                    color=COLOURS[number % len(COLOURS)],
                    marker="o",
                    capsize=3,
                    label=cells.labels[cell],
                )
        count_below(axes)
        if axes.has_data():
            axes.legend()

    return draw


def count_below(axes: "Axes") -> None:
    """Mark integers only."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  # studies are listed without it

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
