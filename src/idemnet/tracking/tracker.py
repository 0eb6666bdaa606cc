"""Track trainings in the project's own MLflow store."""

import getpass
import json
import platform
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from idemnet import __version__
from idemnet.errors import BadInputError
from idemnet.inference.weights import HISTORY, WEIGHTS, TrainedModel, read_weights
from idemnet.steps.data import Report
from idemnet.steps.metrics import Metrics
from idemnet.tracking.query import find_run, local_runs, read_curve
from idemnet.tracking.run import EVALUATION, Run
from idemnet.tracking.store import run_files
from idemnet.tracking.uri import without_secrets


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
        files = run_files(self.store, found.id)
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
        speeds = [(0, 1.0), *read_curve(self.store, found.id, "step/samples_per_second")]
        batch = int(found.parameters["train.batch_size"])
        seconds = sum((b - a) * batch / speed for (a, _), (b, speed) in pairwise(speeds))
        return seconds / 3600 or None

    @contextmanager
    def run(self, fingerprint: str) -> Iterator[Run]:
        """Open a run; an exception inside is recorded as the failure reason."""
        tags = describe_environment(self.store.parent)
        run = Run(self.store, fingerprint, {**tags, "task": self.task, "dataset": self.dataset})
        try:
            yield run
        except BaseException as error:
            run.fail(error)
            raise
        finally:
            run.close()

    def evaluated(self, report: Report) -> None:
        """Add a report to its training's record, if there is one."""
        if self.finished(report.run):
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
            and (metrics := _read_metrics(run_files(self.store, run.id) / EVALUATION))
        ]


def _read_metrics(path: Path) -> Metrics | None:
    """Return a run's evaluation metrics; None if missing or of an incompatible version."""
    with suppress(FileNotFoundError, ValidationError):
        return Metrics.model_validate_json(path.read_bytes())
    return None


def _parse(parameter: str) -> Any:
    """Parse a parameter's value, which MLflow stores as text."""
    with suppress(ValueError):
        return json.loads(parameter)
    return parameter


def describe_environment(root: Path) -> dict[str, str]:
    """Return tags of the code, machine and command."""
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    tags = {
        "host": socket.gethostname(),
        "mlflow.source.name": without_secrets(command),
        "mlflow.source.type": "LOCAL",
        "version.python": platform.python_version(),
        "version.idemnet": __version__,
        "version.torch": metadata.version("torch"),
    }
    with suppress(KeyError, OSError):  # a user without a name, as in some containers
        tags["mlflow.user"] = getpass.getuser()
    with suppress(OSError, subprocess.SubprocessError):  # no git, no repository
        status = ["git", "-C", str(root), "status", "--porcelain=v2", "--branch"]
        done = subprocess.run(  # noqa: S603
            status, capture_output=True, text=True, timeout=5, check=True
        )
        commit, *lines = done.stdout.splitlines()
        if not commit.endswith("(initial)"):
            tags["mlflow.source.git.commit"] = commit.split()[-1]
            tags["mlflow.source.git.dirty"] = str(any(line[0] != "#" for line in lines)).lower()
    return tags
