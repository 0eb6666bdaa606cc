"""Tracking as a training step sees it: a journal to write in; MLflow gets a copy of it."""

import getpass
import json
import os
import platform
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from kedro.utils import find_kedro_project

from idemnet import __version__
from idemnet.errors import BadInputError
from idemnet.inference.weights import HISTORY, WEIGHTS, TrainedModel, read_weights
from idemnet.steps.data import Report
from idemnet.tracking.journal import ARTIFACTS, INTERRUPTED, JOURNAL, Journal, read_start
from idemnet.tracking.store import Progress, Uploader
from idemnet.tracking.system_metrics import system_monitor
from idemnet.tracking.uri import chosen_uri, tracking_uri, without_secrets

JOURNAL_FOLDER = "journal"


@dataclass(frozen=True)
class Tracker:
    """Opens the journals of one task and data set."""

    folder: Path
    task: str
    dataset: str
    uri: str
    experiment: str

    def finished(self, fingerprint: str) -> bool:
        """Whether a training's record is complete."""
        return Journal(self.folder / fingerprint[:16] / JOURNAL_FOLDER).finished

    def trained(self, fingerprint: str) -> TrainedModel | None:
        """Return what a finished training ended with, or None where there is no such record."""
        files = self.folder / fingerprint[:16] / JOURNAL_FOLDER / ARTIFACTS
        if not self.finished(fingerprint):
            return None
        try:
            weights, card = read_weights(files / WEIGHTS)
            history = json.loads((files / HISTORY).read_bytes())
        except (BadInputError, OSError, ValueError):  # removed or damaged: the checkpoint has it
            return None
        return TrainedModel(weights, card, history)

    @contextmanager
    def run(self, fingerprint: str) -> Iterator[Journal]:
        """Open a training run's journal; an error inside becomes the reason why it failed."""
        root = project_root(self.folder)
        place = self.folder / fingerprint[:16] / JOURNAL_FOLDER
        place.mkdir(parents=True, exist_ok=True)
        Progress(place).aim(chosen_uri(self.uri), self.experiment)
        tags = {**surroundings(root), "task": self.task, "dataset": self.dataset}
        journal = Journal(place, tags, system_monitor())
        uploader = Uploader(place, tracking_uri(self.uri, root), self.experiment)
        uploader.start()
        try:
            yield journal
        except Exception as error:
            journal.fail(without_secrets(f"{type(error).__name__}: {error}"))
            raise
        except BaseException:
            journal.fail(INTERRUPTED)
            raise
        finally:
            uploader.close()

    def evaluated(self, report: Report) -> None:
        """Add a report to its training's record; without such a training there is nothing to do."""
        if not Journal(self.folder / report.run[:16] / JOURNAL_FOLDER).finished:
            return
        with self.run(report.run) as journal:
            files = {name: read() for name, read in report.files.items()}
            journal.evaluated(report.fingerprint, report.metrics, files)

    def evaluations(self, except_for: str) -> list[dict[str, Any]]:
        """Return the latest figures of every training but one."""
        found = []
        for path in sorted(self.folder.glob(f"*/{JOURNAL_FOLDER}/{JOURNAL}")):
            if path.parent.parent.name == except_for[:16]:
                continue
            evaluation = Journal(path.parent).evaluation
            if evaluation:
                start = read_start(path.parent)
                found.append(
                    {
                        "fingerprint": evaluation["fingerprint"],
                        "name": start["name"],
                        "parameters": start["parameters"],
                        "metrics": evaluation["metrics"],
                    }
                )
        return found


def project_root(start: Path) -> Path:
    """Find the project that a folder belongs to, else the one we are in."""
    here = Path.cwd()
    return find_kedro_project(start.resolve()) or find_kedro_project(here) or here


def surroundings(root: Path) -> dict[str, str]:
    """Return which code runs, on what, where, and how it was called."""
    tags = {
        "host": socket.gethostname(),
        "mlflow.user": _user(),
        "mlflow.source.name": without_secrets(shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])),
        "mlflow.source.type": "LOCAL",
        "version.python": platform.python_version(),
        "version.idemnet": __version__,
        "version.torch": metadata.version("torch"),
    }
    commit = _git(root, "rev-parse", "HEAD")
    if commit:
        tags["mlflow.source.git.commit"] = commit
        changed = bool(_git(root, "status", "--porcelain"))
        tags["mlflow.source.git.dirty"] = str(changed).lower()
    return tags


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return str(os.getuid())


def _git(root: Path, *command: str) -> str:
    try:
        result = subprocess.run(  # noqa: S603
            ["git", "-C", str(root), *command],  # noqa: S607
            capture_output=True, text=True, timeout=5, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""  # no git, no repository: then there is nothing to say
    return result.stdout.strip()
