"""Content of a report, before it is rendered."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idemnet.reporting.comparability import Counterpart
from idemnet.reporting.samples import ShownSample
from idemnet.steps.metrics import ImageScores, MeanCurve, Metrics
from idemnet.tasks.task import Words


@dataclass(frozen=True)
class Findings:
    """Content of the report's page."""

    metrics: Metrics
    rows: Sequence[ImageScores]
    card: Mapping[str, Any]
    settings: Mapping[str, Any]
    """Settings of the training, flat."""
    other: Counterpart | None
    curves: Mapping[str, MeanCurve]
    """Repeat curves by label, this run's first."""
    plots: Mapping[str, bytes]
    """By file name."""
    samples: Sequence[ShownSample]
    words: Words
    samples_kept: int

    @property
    def better(self) -> int:
        """Return the number of images that gained."""
        return sum(row.gain > 0 for row in self.rows)

    def plot(self, name: str) -> str | None:
        """Return a plot as a data URI, if there is one."""
        content = self.plots.get(f"plots/{name}.svg")
        if content is None:
            return None
        return f"data:image/svg+xml;base64,{base64.b64encode(content).decode()}"
