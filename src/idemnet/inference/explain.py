"""Explain what the network did to a picture: `idemnet restore --explain`."""

import json
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idemnet.imaging.difference import difference
from idemnet.imaging.metrics import mean_change, sharpness
from idemnet.inference.results import EXPLANATION
from idemnet.media.image_files import encode_png
from idemnet.media.write_photo import to_eight_bits
from idemnet.storage.atomic import write_atomic

ALMOST_NOTHING = 0.25
"""Mean change, of 255, below which it is invisible."""
INVISIBLE = "less than can be seen"
ROWS = 256
"""Rows compared at a time: the whole picture would take more memory than writing it."""


@dataclass(frozen=True)
class Explanation:
    """Changes in a picture, in grey levels of 255."""

    sharpness_before: float
    sharpness_after: float
    changes: tuple[float, ...]
    """Mean absolute change by each iteration."""
    change: float
    """Mean absolute change by all iterations together."""
    difference_times: int
    """Magnification of the difference picture."""
    precision: str
    """Precision of the computation."""

    def sentence(self) -> str:
        """Describe the change in one line."""
        sharper = self.sharpness_after / max(self.sharpness_before, 1e-9) - 1
        numbers = (
            f"sharpness {self.sharpness_before:.1f} -> {self.sharpness_after:.1f} ({sharper:+.0%})"
            f", changed by {self.change:.2f} of 255 on average"
        )
        if self.change < ALMOST_NOTHING:
            numbers += f", {INVISIBLE}: the network found little to restore"
        return f"{numbers} (computed in {self.precision})"


def measure_change(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Return the mean absolute change of a picture, of 255; 16 bits are rounded to 8."""
    bands = [slice(top, top + ROWS) for top in range(0, len(before), ROWS)]
    changes = [
        mean_change(to_eight_bits(before[band]), to_eight_bits(after[band])) for band in bands
    ]
    return float(np.average(changes, weights=[len(before[band]) for band in bands]))


def explain(
    folder: Path, before: NDArray[Any], after: list[NDArray[Any]], precision: str
) -> Explanation:
    """Write the picture after each iteration, the difference, and the numbers.

    Args:
        folder: Output folder.
        before: The input picture.
        after: The picture after each iteration.
        precision: Precision of the computation.
    """
    pictures = [to_eight_bits(picture) for picture in (before, *after)]
    changed, times = difference(pictures[0], pictures[-1])
    explanation = Explanation(
        sharpness(pictures[0]),
        sharpness(pictures[-1]),
        tuple(mean_change(a, b) for a, b in pairwise(pictures)),
        mean_change(pictures[0], pictures[-1]),
        times,
        precision,
    )
    folder.mkdir(parents=True, exist_ok=True)
    for number, picture in enumerate(pictures):
        write_atomic(folder / f"iteration_{number}.png", [encode_png(picture)])
    write_atomic(folder / "difference.png", [encode_png(changed)])
    words = {**asdict(explanation), "in_a_line": explanation.sentence()}
    write_atomic(folder / EXPLANATION, [f"{json.dumps(words, indent=1)}\n".encode()])
    return explanation
