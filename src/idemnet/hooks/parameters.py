"""Check parameters before every run, and report bad input in one sentence."""

from pathlib import Path
from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from pydantic import ValidationError

from idemnet.errors import find_bad_input
from idemnet.parameters.base import Parameters
from idemnet.parameters.cluster import ClusterParameters
from idemnet.parameters.renamed import find_old_names
from idemnet.parameters.source import SourceParameters
from idemnet.parameters.study import StudyParameters
from idemnet.storage.atomic import escapes_folder
from idemnet.studies import all_studies
from idemnet.tasks import all_tasks, get_task


class ParameterHooks:
    """Rejects invalid parameters before anything runs, and reports bad input in one sentence."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        check_dataset_name(context.config_loader["globals"]["dataset"])
        parameters = context.config_loader["parameters"]
        known: dict[str, type[Parameters]] = {
            **{name: task.parameters for name, task in all_tasks().items()},
            "study": StudyParameters,
            "realblur": SourceParameters,
            "filmed": SourceParameters,
            "cluster": ClusterParameters,
        }
        faults = [
            f"  {file}: no longer read, move its content to parameters_<task>.yml"
            for file in Path(context.config_loader.conf_source).glob("*/sources*.yml")
        ]
        faults += [f"  {fault}" for fault in find_old_names(parameters)] or [
            *(f"  {key}: unknown task" for key in parameters if key not in known),
            *(
                fault
                for name, group in known.items()
                for fault in describe_faults(name, group, parameters.get(name, {}))
            ),
        ]
        faults = faults or describe_wrong_cells(parameters)
        if faults:
            raise click.ClickException("invalid parameters, nothing was run:\n" + "\n".join(faults))

    @hook_impl
    def on_pipeline_error(self, error: Exception) -> None:
        cause = find_bad_input(error)
        if cause:
            raise click.ClickException(str(cause)) from error


def check_dataset_name(name: object) -> None:
    """Reject a data set whose name is not a plain folder name.

    Raises:
        ClickException: If it is not.
    """
    if not isinstance(name, str) or escapes_folder(name) or not name.strip("./"):
        raise click.ClickException(
            f"dataset = {name!r} in globals.yml must be the name of a folder, one for all tasks"
        )


def describe_faults(name: str, group: type[Parameters], parameters: dict[str, Any]) -> list[str]:
    """List every invalid parameter with its key, its value and the rule it breaks."""
    try:
        group.model_validate(parameters)
    except ValidationError as error:
        return [
            f"  {key}: {fault['msg'].removeprefix('Value error, ')}"
            if isinstance(fault["input"], dict)
            else f"  {key} = {fault['input']!r}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors()
            for key in [".".join(map(str, (name, *fault["loc"])))]
        ]
    return []


def describe_wrong_cells(parameters: dict[str, Any]) -> list[str]:
    """List parameters of unknown studies and cells, and cells with invalid trainings."""
    sizes, studies = StudyParameters.model_validate(parameters["study"]), all_studies()
    cells = {cell.name for study in studies.values() for cell in study.cells}
    faults = [f"  study.studies.{name}: unknown study" for name in sizes.studies.keys() - studies]
    faults += [f"  study.cells.{name}: unknown cell" for name in sizes.cells.keys() - cells]
    for study in studies.values():
        names = [cell.name for cell in study.cells]
        faults += [
            f"  study.studies.{study.name}.cells: has no cell '{name}'"
            for name in sizes.of(study.name).cells or ()
            if name not in names
        ]
        task = get_task(study.task).parameters.model_validate(parameters[study.task])
        for cell in study.chosen(sizes):
            try:
                study.training(cell, 0, sizes, task.train)
            except ValidationError as error:
                [fault, *_] = error.errors()
                key = ".".join(map(str, fault["loc"]))
                faults.append(f"  study.cells.{cell.name}.train.{key}: {fault['msg']}")
    return faults
