"""The figure of each study."""

from collections.abc import Callable, Mapping

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from idemnet.reporting.plots import STYLE, count_below, encode, name_source
from idemnet.reporting.studies import numbers
from idemnet.reporting.studies.layouts import by_level, by_noise, by_pass, curve_of
from idemnet.reporting.studies.numbers import Cells, Measure, Metrics, Numbers

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
"""From Okabe and Ito's palette."""
WIDTH = 6.4
DETAILED = ("repeat", "iterations", "noise")
"""Studies whose figures are of the images that were looked at in detail."""


def draw_figure(cells: Cells) -> bytes:
    """Draw a study as SVG."""
    with mpl.rc_context(STYLE):
        figure = DRAWINGS[cells.results.name](cells)
        if metrics := cells.any_metrics:
            detailed = cells.results.name in DETAILED
            name_source(figure, metrics, (metrics["repeat"] if detailed else metrics)["images"])
        return encode(figure, "svg")


def _bars(cells: Cells) -> Figure:
    """Show what restoring gains and what repeating costs, a line for each cell."""
    figure = Figure(figsize=(WIDTH, 1.2 + 0.38 * len(cells.names)))
    gains, losses = figure.subplots(1, 2, sharey=True)
    _dots(gains, cells, numbers.gain, "gain, dB")
    _dots(losses, cells, numbers.loss, "lost by repeating, dB")
    gains.set_yticks(range(len(cells.names)), [cells.labels[cell] for cell in cells.names])
    gains.invert_yaxis()
    return figure


def _dots(axes: Axes, cells: Cells, measure: Measure, title: str) -> None:
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


def _lines(key: str, curve: Callable[[Metrics], Mapping[str, float]]) -> Callable[[Cells], Figure]:
    def draw(cells: Cells) -> Figure:
        figure = Figure(figsize=(WIDTH, 4.2))
        axes = figure.subplots()
        axes.set(title="PSNR, dB", xlabel=key)
        names = [cell for cell in cells.names if cell not in cells.on_restored]
        for number, cell in enumerate(names):
            found = curve_of(cells, cell, curve)
            if found:
                axes.errorbar(
                    [float(one) for one in found],
                    [one.mean for one in found.values()],
                    yerr=[one.spread or 0 for one in found.values()],
                    # Of the same network with and without the constraint, one is dashed.
                    linestyle="--" if cell.endswith("_without") else "-",
                    color=COLOURS[number % len(COLOURS)],
                    marker="o",
                    capsize=3,
                    label=cells.labels[cell],
                )
        count_below(axes)
        if axes.has_data():
            axes.legend()
        return figure

    return draw


def _iterations(cells: Cells) -> Figure:
    figure = Figure(figsize=(WIDTH, 4.2))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, which in zip(panels, ("first", "second"), strict=True):
        axes.set(title=f"{which} pass: PSNR, dB", xlabel="iteration")
        for number, cell in enumerate(cells.names):
            found = [one["iterations"][which]["psnr"] for one in cells.metrics(cell).values()]
            if found:
                points = [Numbers(values) for values in zip(*found, strict=True)]
                axes.errorbar(
                    range(1, len(points) + 1),
                    [one.mean for one in points],
                    yerr=[one.spread or 0 for one in points],
                    marker="o", capsize=3, color=COLOURS[number], label=cells.labels[cell],
                )  # fmt: skip
        count_below(axes)
    if panels[0].has_data():
        panels[0].legend()
    return figure


def _scatter(cells: Cells) -> Figure:
    """Fig. 1: time and PSNR, the area is the number of parameters."""
    figure = Figure(figsize=(WIDTH, 4.2))
    axes = figure.subplots()
    axes.set(title="PSNR, dB; areas: parameters", xlabel="seconds for one image")
    axes.margins(0.25)
    for number, cell in enumerate(cells.names):
        found = cells.metrics(cell).values()
        if found:
            time, score, size = (
                Numbers(tuple(map(measure, found))).mean
                for measure in (numbers.seconds, numbers.psnr, numbers.parameters)
            )
            axes.scatter([time], [score], s=size / 2e3, color=COLOURS[number], alpha=0.7)
            axes.annotate(
                cells.labels[cell], (time, score), (0, -18), textcoords="offset points", ha="center"
            )
    return figure


DRAWINGS: Mapping[str, Callable[[Cells], Figure]] = {
    **dict.fromkeys(
        ("gopro", "realblur", "ablation", "constraint", "longer", "dehaze", "derain", "thermal"),
        _bars,
    ),
    "levels": _lines("level (frames averaged)", by_level),
    "noise": _lines("noise (standard deviation, of 255)", by_noise),
    "repeat": _lines("pass", by_pass),
    "iterations": _iterations,
    "speed": _scatter,
}
