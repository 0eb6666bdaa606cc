"""Everything a report tells, before it is put into words, plots and a page."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idemnet.reporting.beside import OtherRun
from idemnet.reporting.samples import ShownSample
from idemnet.tasks.task import Words


@dataclass(frozen=True)
class Findings:
    """Everything the page is made of."""

    metrics: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    card: Mapping[str, Any]
    settings: Mapping[str, Any]
    """Of the training, flat."""
    other: OtherRun | None
    curves: Mapping[str, Mapping[str, Any]]
    """Repeat curves by label, this run's first."""
    plots: Mapping[str, bytes]
    """By file name."""
    samples: Sequence[ShownSample]
    words: Words
    samples_kept: int

    def plot(self, name: str) -> str | None:
        """Return a plot as a data URI, if it was drawn."""
        content = self.plots.get(f"plots/{name}.svg")
        if content is None:
            return None
        return f"data:image/svg+xml;base64,{base64.b64encode(content).decode()}"
