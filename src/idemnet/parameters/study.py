"""Sizes of the studies; the studies themselves are in idemnet.studies."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, PositiveInt

from idemnet.parameters.base import Parameters

Changes = dict[str, Any] | None
"""Changes, nested as in the group that they change; `null` removes the changes of another
environment."""


class CellParameters(Parameters):
    """A cell, in every study that has it."""

    train: Changes = None
    """Changes to its training."""
    weights: str | None = None
    """Path of a weights.safetensors, with its card, to use instead of training."""


class SizeParameters(Parameters):
    """Size of one study."""

    cells: tuple[str, ...] | None = Field(None, min_length=1)
    """Cells to run; all if not given."""
    train: Changes = None
    """Changes to the task's training, for all cells."""
    evaluate: Changes = None
    """Changes to the task's evaluation."""
    sequences_apart: bool | None = None
    """Whether to score every test sequence separately; by default as the study defines."""


class StudyParameters(Parameters):
    """All studies."""

    seeds: PositiveInt = 1
    """Number of trainings of every cell, with seeds 0, 1, ...; results are mean and spread."""
    train: Changes = None
    """Changes to every training."""
    evaluate: Changes = None
    """Changes to every evaluation."""
    cells: dict[str, CellParameters] = {}
    studies: dict[str, SizeParameters] = {}

    def of(self, study: str) -> SizeParameters:
        return self.studies.get(study, SizeParameters())

    def of_cell(self, cell: str) -> CellParameters:
        return self.cells.get(cell, CellParameters())


def merge(settings: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Merge changes into settings, group by group."""
    merged = dict(settings)
    for key, value in (changes or {}).items():
        both_groups = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both_groups else value
    return merged
