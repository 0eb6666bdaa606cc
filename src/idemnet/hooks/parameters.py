"""Around every run: parameters are checked, errors are short."""

from typing import Any

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from pydantic import ValidationError

from idemnet.errors import BadInputError
from idemnet.parameters.base import Parameters
from idemnet.parameters.source import SourceParameters
from idemnet.parameters.study import STUDIES, StudyParameters
from idemnet.tasks import all_tasks, get_task


class ParameterHooks:
    """Refuses wrong parameters before anything has run, and says bad input in one sentence."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        parameters = context.config_loader["parameters"]
        known: dict[str, type[Parameters]] = {
            **{name: task.parameters for name, task in all_tasks().items()},
            "study": StudyParameters,
            "realblur": SourceParameters,
        }
        faults = [f"  {key}: unknown task" for key in parameters if key not in known]
        for name, group in known.items():
            faults += describe_faults(name, group, parameters.get(name, {}))
        faults = faults or describe_wrong_cells(parameters)
        if faults:
            raise click.ClickException("wrong parameters, nothing was run:\n" + "\n".join(faults))

    @hook_impl
    def on_pipeline_error(self, error: Exception) -> None:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, BadInputError):
                raise click.ClickException(str(cause)) from error
            cause = cause.__cause__


def describe_faults(name: str, group: type[Parameters], parameters: dict[str, Any]) -> list[str]:
    """List every wrong parameter with its key, its value and the rule it breaks."""
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
    """List the cells of studies that change a training to one that cannot be."""
    study = StudyParameters.model_validate(parameters["study"])
    faults = []
    for name, chosen in study.studies.items():
        task = get_task(STUDIES[name]).parameters.model_validate(parameters[STUDIES[name]])
        for cell in chosen.cells:
            try:
                study.training(name, cell, 0, task.train)
            except ValidationError as error:
                [fault, *_] = error.errors()
                key = ".".join(map(str, fault["loc"]))
                faults.append(f"  study.cells.{cell}.train.{key}: {fault['msg']}")
    return faults
