"""Track trainings in the project's own MLflow store."""

import getpass
import json
import os
import platform
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from idemnet import __version__
from idemnet.errors import BadInputError
from idemnet.inference.weights import HISTORY, WEIGHTS, TrainedModel, read_weights
from idemnet.steps.data import Report
from idemnet.steps.metrics import Metrics
from idemnet.tracking.query import PREFIX, Database
from idemnet.tracking.run import EVALUATION, INTERRUPTED, Run, find_run, local_runs
from idemnet.tracking.uri import local_path, without_secrets


@dataclass(frozen=True)
class Tracker:
    """Opens the runs of one task and data set."""

    store: Path
    """MLflow's database; run files are in mlruns/ next to it."""
    task: str
    dataset: str

    def finished(self, fingerprint: str) -> bool:
        """Return whether a training's record is complete."""
        found = find_run(self.store, fingerprint)
        return found is not None and found.status == "FINISHED"

    def trained(self, fingerprint: str) -> TrainedModel | None:
        """Return the result of a finished training, or None if it is not recorded."""
        found = find_run(self.store, fingerprint)
        if found is None or found.status != "FINISHED":
            return None
        files = local_path(found.artifacts)
        try:
            weights, card = read_weights(files / WEIGHTS)
            history = json.loads((files / HISTORY).read_bytes())
        except (BadInputError, OSError, ValueError):  # removed or damaged: use the checkpoint
            return None
        return TrainedModel(weights, card, history)

    def hours(self, fingerprint: str) -> float | None:
        """Sum up a training's speeds, which count no pauses between its processes."""
        found = find_run(self.store, fingerprint)
        if found is None:
            return None
        speeds = Database(self.store).curve(found.id, "step/samples_per_second")
        batch = int(found.parameters["train.batch_size"])
        steps = [0, *(step for step, _ in speeds)]
        seconds = [(step - before) * batch / speed
                   for before, (step, speed) in zip(steps, speeds, strict=False)]  # fmt: skip
        return sum(seconds) / 3600 if seconds else None

    @contextmanager
    def run(self, fingerprint: str) -> Iterator[Run]:
        """Open a run; an exception inside is recorded as the failure reason."""
        tags = {
            **describe_environment(self.store.parent),
            "task": self.task,
            "dataset": self.dataset,
        }
        run = Run(self.store, f"{PREFIX}{self.task}", fingerprint, tags)
        try:
            yield run
        except Exception as error:
            run.fail(f"{type(error).__name__}: {error}")
            raise
        except BaseException:
            run.fail(INTERRUPTED)
            raise
        finally:
            run.close()

    def evaluated(self, report: Report) -> None:
        """Add a report to its training's record, if there is one."""
        found = find_run(self.store, report.run)
        if found and found.status == "FINISHED":
            with self.run(report.run) as run:
                files = {name: read() for name, read in report.files.items()}
                run.evaluated(report.fingerprint, report.metrics, files)

    def evaluations(self, except_for: str) -> list[dict[str, Any]]:
        """Return the latest metrics of every training but one, the oldest first."""
        return [
            {
                "fingerprint": run.tags["evaluation"],
                "name": run.name,
                "parameters": {key: _parse(value) for key, value in run.parameters.items()},
                "metrics": metrics,
            }
            for run in reversed(local_runs(self.store, "dataset", self.dataset))
            if run.tags.get("task") == self.task
            and run.tags.get("fingerprint") != except_for
            and "evaluation" in run.tags
            and (metrics := _read_metrics(local_path(run.artifacts) / EVALUATION))
        ]


def _read_metrics(path: Path) -> Metrics | None:
    """Return a run's evaluation metrics; None if missing or of an incompatible version."""
    try:
        return Metrics.model_validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def _parse(parameter: str) -> Any:
    """Parse a parameter's value, which MLflow stores as text."""
    try:
        return json.loads(parameter)
    except ValueError:
        return parameter


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return str(os.getuid())


def describe_environment(root: Path) -> dict[str, str]:
    """Return tags of the code, machine and command."""
    tags = {
        "host": socket.gethostname(),
        "mlflow.user": _user(),
        "mlflow.source.name": without_secrets(shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])),
        "mlflow.source.type": "LOCAL",
        "version.python": platform.python_version(),
        "version.idemnet": __version__,
        "version.torch": metadata.version("torch"),
    }
    with suppress(OSError, subprocess.SubprocessError):  # no git, no repository
        result = subprocess.run(  # noqa: S603
            ["git", "-C", str(root), "status", "--porcelain=v2", "--branch"],  # noqa: S607
            capture_output=True, text=True, timeout=5, check=True,
        )  # fmt: skip
        commit, *lines = result.stdout.splitlines()
        if not commit.endswith("(initial)"):
            tags["mlflow.source.git.commit"] = commit.split()[-1]
            tags["mlflow.source.git.dirty"] = str(any(line[0] != "#" for line in lines)).lower()
    return tags
