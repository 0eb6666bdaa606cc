"""Format scores, always with their protocol and number of images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idemnet.evaluation.protocols import Protocol, mean_scores

DIGITS = {"psnr": 2}
"""Digits of scores in tables; others have four."""


@dataclass(frozen=True)
class Scores:
    """The scores of a set of images."""

    protocol: Protocol
    scores: Mapping[str, Mapping[str, float]]
    """Scores by image name."""

    def mean(self) -> dict[str, float]:
        return mean_scores(list(self.scores.values()))

    def as_json(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol.name,
            "description": self.protocol.description,
            "images": len(self.scores),
            "mean": self.mean(),
            "each": [{"name": name, **scores} for name, scores in self.scores.items()],
        }

    def as_text(self, *, each: bool) -> str:
        """Return a table, followed by the protocol."""
        count = len(self.scores)
        rows = [("", *self.protocol.measures)]
        if each:
            rows += [(name, *self._shown(scores)) for name, scores in self.scores.items()]
        title = "1 image" if count == 1 else f"mean of {count} images"
        rows.append((title, *self._shown(self.mean())))
        return "\n".join(
            [*align_columns(rows), f"{self.protocol.name} - {self.protocol.description}"]
        )

    def _shown(self, scores: Mapping[str, float]) -> list[str]:
        return [f"{scores[name]:.{DIGITS.get(name, 4)}f}" for name in self.protocol.measures]


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Format a table: the first column left-aligned, numbers right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        )
        for row in rows
    ]
