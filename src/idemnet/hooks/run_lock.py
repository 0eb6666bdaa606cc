"""Lock folders so that one run at a time writes each data set and step.

A run takes exclusive locks on the folders that its pipeline writes, and shared locks on those that
it reads. If several nodes train together in one shared folder, the first holds the locks and runs
every step; the others wait for the data and only join the training.
"""

import logging
import os
import re
import socket
import sys
import time
from pathlib import Path
from typing import IO, NoReturn

import click
import psutil
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from idemnet.hooks.joining import find_training, join_training, training_parameters
from idemnet.system.launcher import launched_place
from idemnet.system.locks import LockMode, share_lock, try_lock

logger = logging.getLogger(__name__)

LOCKS = "data/.locks"
POLL_SECONDS = 0.5


class InUseError(click.ClickException):
    """Another run writes a folder that this one reads, or uses a folder that this one writes."""


class RunLockHooks:
    """Locks the folders of a run; a second run is told which process holds them."""

    def __init__(self) -> None:
        self._project = Path()
        self._files: dict[str, IO[str]] = {}
        """Open lock files, by dataset name."""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        self._project = context.project_path

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        self._release()  # left by a run in this process that a signal stopped
        try:
            for name, folder, mode in _folders(pipeline.nodes, catalog):
                self._lock(name, folder, mode)
        except InUseError as error:
            self._release()
            step = find_training(pipeline)
            if step is None or launched_place() or training_parameters(step, catalog).nodes == 1:
                raise
            logger.warning("%s: joining its training", error.message)
            self._join(step, catalog)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str) -> None:
        """Downgrade the lock of a published folder: from here on this run only reads it."""
        if dataset_name in self._files:
            share_lock(self._files[dataset_name])

    @hook_impl
    def after_pipeline_run(self) -> None:
        self._release()

    @hook_impl(tryfirst=True)
    def on_pipeline_error(self) -> None:
        self._release()

    def _lock(self, name: str, folder: Path, mode: LockMode) -> None:
        if folder.is_relative_to(self._project):
            folder = folder.relative_to(self._project)
        path = self._project / LOCKS / f"{str(folder).strip(os.sep).replace(os.sep, '.')}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
        try:
            try_lock(file, mode)
        except BlockingIOError:
            owner = _owner(file)
            file.close()
            raise InUseError(f"{folder} is in use by {owner}") from None
        if mode is LockMode.EXCLUSIVE:
            file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}: {' '.join(sys.argv)}\n")
        file.flush()
        self._files[name] = file

    def _release(self) -> None:
        for file in self._files.values():
            file.close()
        self._files = {}

    def _join(self, step: Node, catalog: DataCatalog) -> NoReturn:
        """Take part in the training of the run that owns the folders, then exit."""
        deadline = time.monotonic() + 60 * training_parameters(step, catalog).rendezvous_minutes
        for name, folder, mode in _folders([step], catalog):
            if mode is LockMode.SHARED:
                self._wait(name, folder, deadline)
        join_training(step, catalog)

    def _wait(self, name: str, folder: Path, deadline: float) -> None:
        """Wait until the owner has prepared a folder and shares its lock."""
        said = False
        while True:
            try:
                self._lock(name, folder, LockMode.SHARED)
            except InUseError as error:
                if time.monotonic() > deadline:
                    raise click.ClickException(
                        f"{error.message}, which has not prepared it within rendezvous_minutes"
                    ) from None
                if not said:
                    logger.info("waiting for data: %s", error.message)
                said = True
                time.sleep(POLL_SECONDS)
            else:
                return


def _folders(nodes: list[Node], catalog: DataCatalog) -> list[tuple[str, Path, LockMode]]:
    """Return each dataset with its folder and lock mode, in locking order.

    All runs use the same order, so of two equal runs one gets the first lock and then all others.
    """
    from idemnet.datasets.folder import Folder  # noqa: PLC0415  # not to list pipelines

    outputs = {name for node in nodes for name in node.outputs}
    inputs = {name for node in nodes for name in node.inputs if not name.startswith("params:")}
    found = []
    for name in outputs | inputs:
        dataset = catalog.get(name)
        if isinstance(dataset, Folder):
            mode = LockMode.EXCLUSIVE if name in outputs else dataset.lock_as_input
            if mode is not None:
                found.append((name, dataset.folder, mode))
            if name in outputs:
                found += [
                    (f"{name} {place}", place, LockMode.EXCLUSIVE) for place in dataset.writes
                ]
    return sorted(found, key=lambda one: one[1])


def _owner(file: IO[str]) -> str:
    """Read who holds a lock; retry, as a new owner may not have written its name yet."""
    owner = "another process"
    for _ in range(100):
        file.seek(0)
        lines = [line.strip() for line in file]
        for owner in reversed(lines):
            found = re.match(r"process (\d+) on (\S+):", owner)
            if found and (found[2] != socket.gethostname() or psutil.pid_exists(int(found[1]))):
                return owner
        time.sleep(0.01)
    return owner
