"""Repeat curve of one picture: drift and sharpness over repeated passes."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from idemnet.app.restoring import middle
from idemnet.imaging.image import Image
from idemnet.imaging.metrics import mean_change, sharpness
from idemnet.inference.restorer import Restorer
from idemnet.reporting.plots import BLUE, ORANGE, STYLE, encode
from idemnet.studies.parts.figures import count_below

PASSES = 10


@dataclass(frozen=True)
class RepeatCurve:
    """Change and sharpness after each pass, in grey levels of 255."""

    change: list[float]
    """Mean difference from the first pass, after each pass."""
    sharpness: list[float]
    """Mean difference of neighbouring pixels, in the input and after each pass."""


def repeat(picture: Image, restorer: Restorer, advance: Callable[..., object]) -> RepeatCurve:
    """Restore the middle of a picture repeatedly, without rounding in between."""
    given = np.divide(middle(picture), 255, dtype=np.float32)
    passes: list[NDArray[np.float32]] = []
    for number in range(PASSES):
        advance((number, PASSES), "Repeating", unit="passes")
        passes.append(restorer(passes[-1] if passes else given))
    return RepeatCurve(
        change=[255 * mean_change(passes[0], one) for one in passes],
        sharpness=[255 * sharpness(one) for one in (given, *passes)],
    )


def draw(curves: Mapping[str, RepeatCurve]) -> bytes:
    """Draw the curves as SVG with a transparent background, for light and dark pages."""
    style = STYLE | {f"{part}.facecolor": "none" for part in ("figure", "axes", "savefig")}
    with mpl.rc_context(style):
        figure = Figure(figsize=(5, 4.8))
        upper, lower = figure.subplots(2, sharex=True)
        upper.set_title("change since the first pass, of 255 grey levels")
        lower.set_title("sharpness: mean step between pixels, of 255")
        lower.set_xlabel("pass (0: the input)")
        for (label, curve), colour, marker in zip(
            curves.items(), (BLUE, ORANGE), "os", strict=False
        ):
            places = np.arange(len(curve.sharpness))
            upper.plot(places[1:], curve.change, color=colour, marker=marker, label=label)
            lower.plot(places, curve.sharpness, color=colour, marker=marker, label=label)
        # Keep flat curves flat: the axis spans at least one grey level.
        highest = max(max(curve.change) for curve in curves.values())
        upper.set_ylim(0, max(1.0, 1.1 * highest))
        low, high = lower.get_ylim()
        lower.set_ylim(min(low, (low + high) / 2 - 0.5), max(high, (low + high) / 2 + 0.5))
        count_below(lower)
        if len(curves) > 1:
            upper.legend()
        return encode(figure, "svg")


def show(curves: Mapping[str, RepeatCurve], where: str) -> str:
    """Draw the curves and describe their last values.

    Args:
        curves: Curves by label.
        where: Description of the part of the picture they were measured on.
    """
    ends = "; ".join(f"{label}: {curve.change[-1]:.2f}" for label, curve in curves.items())
    words = (
        f"{PASSES} passes. Mean change from the first to the last, {where}, in grey levels of 255: "
        f"{ends}."
    )
    uri = f"data:image/svg+xml;base64,{base64.b64encode(draw(curves)).decode()}"
    return (
        f'<figure><img class="plot" src="{uri}" alt="Repeat curve">'
        f"<figcaption>{escape(words)}</figcaption></figure>"
    )
