"""Around every run: parameters are checked, one run owns the data, errors are short."""

import fcntl
import os
import re
import sys
import time
from pathlib import Path
from typing import IO, Any

import click
import psutil
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from pydantic import ValidationError

from idemnet.data_parameters import SourceParameters
from idemnet.errors import BadInputError
from idemnet.parameters import Parameters
from idemnet.studies import STUDIES, StudyParameters
from idemnet.tasks import TASKS


class ParameterHooks:
    """Refuses wrong parameters before anything has run, and says bad input in one sentence."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        parameters = context.config_loader["parameters"]
        known: dict[str, type[Parameters]] = {
            **TASKS,
            "study": StudyParameters,
            "realblur": SourceParameters,
        }
        faults = [f"  {key}: is no task" for key in parameters if key not in known]
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
    """Say of every wrong parameter its key, its value and the rule it breaks."""
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
    """Say which cells of studies change a training to one that cannot be."""
    study = StudyParameters.model_validate(parameters["study"])
    faults = []
    for name, chosen in study.studies.items():
        task = TASKS[STUDIES[name]].model_validate(parameters[STUDIES[name]])
        for cell in chosen.cells:
            try:
                study.training(name, cell, 0, task.train)
            except ValidationError as error:
                [fault, *_] = error.errors()
                key = ".".join(map(str, fault["loc"]))
                faults.append(f"  study.cells.{cell}.train.{key}: {fault['msg']}")
    return faults


class RunLockHooks:
    """One run at a time owns data/; whoever comes second is told who holds it.

    The kernel drops the lock when its owner ends, however it ends.
    """

    def __init__(self) -> None:
        self._data = Path("data")
        self._lock: IO[str] | None = None

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        self._data = context.project_path / "data"

    @hook_impl
    def before_pipeline_run(self) -> None:
        self._data.mkdir(exist_ok=True)
        lock = (self._data / ".run.lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(lock)
            lock.close()
            raise click.ClickException(f"{self._data} is in use by {owner}") from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}: {' '.join(sys.argv)}\n")
        lock.flush()
        self._lock = lock

    @hook_impl
    def after_pipeline_run(self) -> None:
        self._release()

    @hook_impl(tryfirst=True)
    def on_pipeline_error(self) -> None:
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _owner(lock: IO[str]) -> str:
    """Read who holds a lock: who has just won it may not have written that yet."""
    owner = "another process"
    for _ in range(100):
        lock.seek(0)
        owner = lock.read().strip() or owner
        number = re.match(r"process (\d+):", owner)
        if number and psutil.pid_exists(int(number[1])):
            break
        time.sleep(0.01)
    return owner
