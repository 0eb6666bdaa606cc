"""What a study measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """What one cell of a study came to, with one seed."""

    cell: str
    label: str
    seed: int
    sequence: str = ""
    """Which test images: all, or those of one sequence."""
    after: str | None = None
    """The cell whose restored images it was given, if they were not the degraded ones."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of its training, flat."""
    metrics: Mapping[str, Any] | None = None
    """As metrics.json has them; None where it failed."""
    failure: str = ""


@dataclass(frozen=True)
class StudyResults:
    """What a study measured."""

    name: str
    task: str
    dataset: str
    outcomes: Sequence[Outcome]
