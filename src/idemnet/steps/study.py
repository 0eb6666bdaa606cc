"""What a study measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from idemnet.steps.metrics import Metrics


@dataclass(frozen=True)
class Outcome:
    """Result of one cell of a study with one seed."""

    cell: str
    label: str
    seed: int
    sequence: str = ""
    """The scored sequence; empty for all test images."""
    after: str | None = None
    """The cell whose restored images were its input, if not the degraded ones."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of its training, flat."""
    metrics: Metrics | None = None
    """None if it failed."""
    updates: int | None = None
    """Length of its training; None for weights from elsewhere and in results of older versions."""
    hours: float | None = None
    """Duration of its training, without pauses; None if not recorded."""
    failure: str = ""


@dataclass(frozen=True)
class StudyResults:
    """What a study measured."""

    name: str
    task: str
    dataset: str
    outcomes: Sequence[Outcome]

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """Return the results themselves: tables are made again if anything in them changes."""
        content: Mapping[str, Any] = STORED.dump_python(self)
        return content


STORED = TypeAdapter(StudyResults)
"""Reads and writes results.json."""
