"""Parameters of the studies: their cells, and what is trained for them."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, PositiveInt, model_validator

from idemnet.parameters.base import Parameters
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.train import TrainParameters

STUDIES: Mapping[str, str] = dict.fromkeys(
    (
        "gopro",
        "realblur",
        "levels",
        "ablation",
        "constraint",
        "longer",
        "repeat",
        "iterations",
        "noise",
        "thermal",
        "speed",
    ),
    "deblur",
) | {"dehaze": "dehaze", "derain": "derain"}
"""The task of each study, by name."""

Changes = dict[str, Any] | None
"""What is set differently, nested as in the group it changes; `null`, in an environment that takes
back what another says: nothing."""


class CellParameters(Parameters):
    """One network: how it is trained, and on what it is tried."""

    label: str = Field(min_length=1)
    """What tables call it."""
    train: Changes = None
    """What differs from its task's training."""
    weights: str | None = None
    """Path of a weights.safetensors, its card beside it, taken instead of a training."""
    single_channel: bool = False
    """Try it on the brightness alone, as of a thermal camera."""
    after: str | None = None
    """Another cell: this one restores what that one has restored."""


class CellsParameters(Parameters):
    """One study."""

    cells: tuple[str, ...] = Field(min_length=1)
    """Names of cells, in the order of the table."""
    train: Changes = None
    """What differs in all of them from their task's training."""
    evaluate: Changes = None
    """What differs from their task's evaluation."""
    sequences_apart: bool = False
    """Score every sequence of the test split by itself; of several test sets, each is one."""


class StudyParameters(Parameters):
    """All studies, and the cells that they share."""

    seeds: PositiveInt = 1
    """Trainings of every cell, with seeds 0, 1, ...; results are their mean and spread."""
    train: Changes = None
    """What differs in every training from its task's."""
    evaluate: Changes = None
    """What differs in every evaluation from its task's."""
    cells: dict[str, CellParameters]
    studies: dict[str, CellsParameters]

    @model_validator(mode="after")
    def _cells_are_there(self) -> Self:
        if self.studies.keys() != STUDIES.keys():
            raise ValueError(f"studies must be {', '.join(STUDIES)}")
        for name, study in self.studies.items():
            missing = [cell for cell in study.cells if cell not in self.cells]
            if missing:
                raise ValueError(f"studies.{name}: there is no cell '{missing[0]}'")
        for name, cell in self.cells.items():
            if cell.after is not None and cell.after not in self.cells:
                raise ValueError(f"cells.{name}.after: there is no cell '{cell.after}'")
        return self

    def training(self, study: str, cell: str, seed: int, task: TrainParameters) -> TrainParameters:
        """Return a cell's training: its task's, with what the studies, this one and it change."""
        settings = {**task.model_dump(mode="json"), "network": task.network.model_dump(mode="json")}
        for changes in (self.train, self.studies[study].train, self.cells[cell].train):
            settings = merge(settings, changes)
        return TrainParameters.model_validate({**settings, "seed": seed})

    def evaluation(self, study: str, task: EvaluateParameters) -> EvaluateParameters:
        """Return the evaluation of a study's cells."""
        settings = task.model_dump(mode="json")
        for changes in (self.evaluate, self.studies[study].evaluate):
            settings = merge(settings, changes)
        return EvaluateParameters.model_validate(settings)


def merge(settings: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    """Lay changes over settings, group by group."""
    merged = dict(settings)
    for key, value in (changes or {}).items():
        both_groups = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both_groups else value
    return merged
