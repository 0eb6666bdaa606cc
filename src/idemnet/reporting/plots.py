"""Plots of the report, as SVG and PNG."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from idemnet.reporting.formatting import signed
from idemnet.reporting.tables import source_of
from idemnet.steps.metrics import ImageScores, MeanCurve, MeanRestoration, Metrics
from idemnet.studies.parts.figures import count_below
from idemnet.tasks.task import Words

GREY, BLUE, ORANGE, GREEN = "#6b6b6b", "#0072b2", "#d55e00", "#009e73"
"""Okabe and Ito's palette, safe for colour-blind readers; before, after, other."""
KINDS = ("svg", "png")
STYLE: dict[Any, Any] = {
    # Glyphs as paths: the same picture everywhere, whatever fonts are installed.
    "svg.fonttype": "path",
    "svg.hashsalt": "idemnet",
    "font.family": "DejaVu Sans",
    "font.size": 11.5,
    "axes.titlesize": 11.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9a9a9a",
    "axes.labelcolor": "#333333",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#e6e6e6",
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "legend.frameon": False,
    "legend.fontsize": 10.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "figure.constrained_layout.use": True,
}
SIZE = (5.0, 3.4)
"""In inches; small, so that text is legible on a phone."""
FLAT = 0.5
"""Smallest span of an axis in dB, so that nearly constant curves look constant."""


def draw_plots(
    metrics: Metrics,
    rows: Sequence[ImageScores],
    history: Sequence[Mapping[str, float]],
    curves: Mapping[str, MeanCurve],
    words: Words,
) -> dict[str, bytes]:
    """Return all plots that have results, by file name.

    Args:
        metrics: Metrics of the evaluation.
        rows: Scores of each image.
        history: Epochs of the training.
        curves: Repeat curves by label, this run's first.
        words: Names of the task's images.
    """
    drawings: dict[str, Callable[[], Figure]] = {
        "repeat": lambda: _repeat(metrics, curves, words),
        "iterations": lambda: _iterations(metrics),
        "gains": lambda: _gains(metrics, rows),
    }
    if any(level != "0" for level in metrics.levels):
        drawings["levels"] = lambda: _before_and_after(
            metrics, metrics.levels, f"level ({words.level})", words, metrics.images
        )
    if metrics.noise:
        drawings["noise"] = lambda: _before_and_after(
            metrics, metrics.noise, "noise (standard deviation, of 255)", words
        )
    if history:
        drawings["training"] = lambda: _training(history)
    files: dict[str, bytes] = {}
    with mpl.rc_context(STYLE):
        for name, draw in drawings.items():
            figure = draw()
            files |= {f"plots/{name}.{kind}": encode(figure, kind) for kind in KINDS}
    return files


def _repeat(metrics: Metrics, curves: Mapping[str, MeanCurve], words: Words) -> Figure:
    figure, axes = _start("PSNR after each pass, dB", "pass", metrics, metrics.repeat.images)
    # The mean over the repeated images only, so that the curve starts at the same value.
    sigma_0 = metrics.noise.get("0")
    if sigma_0:
        axes.axhline(
            sigma_0.input.psnr, color=GREY, linestyle="--", label=f"{words.degraded} image"
        )
    for (label, curve), colour, marker in zip(curves.items(), (BLUE, ORANGE), "os", strict=False):
        places = np.arange(1, len(curve.psnr) + 1)
        axes.plot(places, curve.psnr, color=colour, marker=marker, label=label)
    count_below(axes)
    _finish(axes)
    return figure


def _before_and_after(
    metrics: Metrics,
    groups: Mapping[str, MeanRestoration],
    label: str,
    words: Words,
    images: int | None = None,
) -> Figure:
    number = metrics.repeat.images if images is None else images
    figure, axes = _start("PSNR, dB", label, metrics, number)
    places = [int(key) for key in groups]
    restored, degraded = zip(
        *((one.restored.psnr, one.input.psnr) for one in groups.values()), strict=True
    )
    for scores, name, colour, marker, line in (
        (restored, "restored", BLUE, "o", "-"),
        (degraded, words.degraded, GREY, "s", "--"),
    ):
        axes.plot(places, scores, color=colour, marker=marker, linestyle=line, label=name)
    axes.set_xticks(places)
    _finish(axes)
    return figure


def _iterations(metrics: Metrics) -> Figure:
    figure = Figure(figsize=(SIZE[0], 1.5 * SIZE[1]))
    upper, lower = figure.subplots(2, sharex=True)
    upper.set_title("PSNR after each iteration, dB")
    lower.set_title("change of pixels in each iteration, of 255")
    first, second = metrics.iterations.first, metrics.iterations.second
    for values, which, colour, marker in (
        (first, "first", BLUE, "o"),
        (second, "second", ORANGE, "s"),
    ):
        places = np.arange(1, len(values.psnr) + 1)
        upper.plot(places, values.psnr, color=colour, marker=marker, label=f"{which} pass")
        lower.plot(places, values.every, color=colour, marker=marker)
    lower.set_xlabel("iteration")
    highest = max(first.every + second.every)
    lower.set_ylim(0, 1.15 * highest or 1.0)
    count_below(lower)
    _finish(upper)
    name_source(figure, metrics, metrics.iterations.images)
    return figure


def _gains(metrics: Metrics, rows: Sequence[ImageScores]) -> Figure:
    gains = np.sort([row.gain for row in rows])
    figure, axes = _start(
        "gain of each image, dB", "images, from worst to best", metrics, len(rows)
    )
    places = np.arange(1, len(gains) + 1)
    size = 22 if len(gains) <= 100 else 6
    for chosen, colour, name in ((gains > 0, BLUE, "better"), (gains <= 0, ORANGE, "not better")):
        if chosen.any():
            label = f"{name}: {int(chosen.sum()):,}"
            axes.scatter(places[chosen], gains[chosen], s=size, color=colour, label=label)
    axes.axhline(0, color="#333333", linewidth=1)
    mean = float(gains.mean())
    axes.axhline(mean, color=GREY, linestyle="--", label=f"mean {signed(mean)}")
    count_below(axes)
    _finish(axes, flat=0.0)
    return figure


def _training(history: Sequence[Mapping[str, float]]) -> Figure:
    validated = [epoch for epoch in history if "validation/psnr" in epoch]
    figure = Figure(figsize=(SIZE[0], 1.5 * SIZE[1] if validated else SIZE[1]))
    panels = figure.subplots(2 if validated else 1, sharex=True, squeeze=False)[:, 0]
    panels[0].set_title("loss (mean of each epoch)")
    lines = (("sharp_1", "first pass", BLUE), ("sharp_2", "second pass", ORANGE),
             ("idempotent", "between passes", GREEN))  # fmt: skip
    for name, label, colour in lines:
        _plot_epochs(panels[0], history, name, label=label, color=colour)
    panels[0].set_yscale(
        "log" if _all_positive(history, [name for name, *_ in lines]) else "linear"
    )
    panels[0].legend()
    if validated:
        panels[1].set_title("PSNR on validation images, dB")
        _plot_epochs(
            panels[1], validated, "validation/psnr_input", label="input", color=GREY, linestyle="--"
        )
        _plot_epochs(panels[1], validated, "validation/psnr", label="first pass", color=BLUE)
        _plot_epochs(panels[1], validated, "validation/psnr_3", label="third pass", color=ORANGE)
        _finish(panels[1])
    panels[-1].set_xlabel("epoch")
    count_below(panels[-1])
    return figure


def _plot_epochs(
    axes: Axes,
    history: Sequence[Mapping[str, float]],
    name: str,
    **how: str,
) -> None:
    points = [(epoch["epoch"], epoch[name]) for epoch in history if name in epoch]
    if points:
        marker = "o" if len(points) <= 20 else ""
        axes.plot(*zip(*points, strict=True), marker=marker, **how)  # type: ignore[arg-type]


def _all_positive(history: Sequence[Mapping[str, float]], names: Sequence[str]) -> bool:
    return all(epoch[name] > 0 for epoch in history for name in names if name in epoch)


def _start(title: str, below: str, metrics: Metrics, images: int) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE)
    axes = figure.subplots()
    axes.set_title(title)
    axes.set_xlabel(below)
    name_source(figure, metrics, images)
    return figure, axes


def name_source(figure: Figure, metrics: Metrics, images: int) -> None:
    """Write the data set and protocol into the plot, which may be shared without its page."""
    text = figure.supxlabel(source_of(metrics, images), x=0.01, ha="left", fontsize=8.5, color=GREY)
    text.set_parse_math(False)


def _finish(axes: Axes, flat: float = FLAT) -> None:
    low, high = axes.get_ylim()
    middle, half = (low + high) / 2, max(high - low, flat) / 2
    axes.set_ylim(middle - half, middle + half)
    axes.legend()


def encode(figure: Figure, kind: str) -> bytes:
    """Encode a figure; the same plot gives the same bytes: no date, no version."""
    content = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(content, format=kind, dpi=200, metadata=metadata)
    figure.set_layout_engine("none")  # the layout is final, for every format
    return content.getvalue()
