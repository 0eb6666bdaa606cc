"""A run in the project's own MLflow store.

All operations are idempotent: a run is found by its fingerprint, and nothing is stored twice.
"""

import json
import logging
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from idemnet.errors import BadInputError
from idemnet.imaging.image import Image
from idemnet.inference.weights import CARD, WEIGHTS
from idemnet.steps.data import TrackedRun
from idemnet.steps.metrics import Metrics
from idemnet.steps.plan import flatten
from idemnet.storage.atomic import path_inside
from idemnet.tracking.buffer import Buffer, Opened
from idemnet.tracking.query import Database
from idemnet.tracking.registry import VALIDATED_ON, add_version, promote, save_model
from idemnet.tracking.store import (
    Value,
    connect,
    find_or_create_experiment,
    log_all,
    relocate_artifacts,
)
from idemnet.tracking.uri import local_path, sqlite_uri, without_secrets

EVALUATION = "evaluation.json"
INTERRUPTED = "interrupted"
"""Failure reason of a run that was interrupted."""
SOURCE = ("mlflow.user", "mlflow.source.name", "mlflow.source.type", "mlflow.source.git.commit")
"""MLflow's tags for source and user."""

logger = logging.getLogger(__name__)


def local_runs(store: Path, tag: str, value: str) -> list[TrackedRun]:
    """Return the runs with a tag, the latest first; none if the store cannot be read."""
    if not store.exists():
        return []
    try:
        relocate_artifacts(store)
        return Database(store).runs(tag, value)
    except (BadInputError, sqlite3.Error) as error:
        logger.warning("tracking: %s: %s", store, error)
        return []


def find_run(store: Path, fingerprint: str) -> TrackedRun | None:
    """Return the run with a fingerprint."""
    return next(iter(local_runs(store, "fingerprint", fingerprint)), None)


class Run:
    """A run; a resumed training continues it."""

    def __init__(
        self, store: Path, experiment: str, fingerprint: str, tags: Mapping[str, str]
    ) -> None:
        """Read the stored run, if there is one.

        Args:
            store: MLflow's database, created by the first write.
            experiment: Name of the experiment.
            fingerprint: Identifies the run.
            tags: Tags to add to those of `start`.
        """
        self._store, self._experiment, self._fingerprint = store, experiment, fingerprint
        self._tags = {**tags, "fingerprint": fingerprint}
        self._name, self._begun, self._parameters = "", 0, dict[str, str]()
        self._found = find_run(store, fingerprint)
        self._status = self._found.status if self._found else ""
        self._monitor: Any = None
        self._buffer = Buffer(store, self._open)

    def start(self, name: str, parameters: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """Start the run, or resume one of an earlier process; nested parameters are flattened."""
        if self._status == "FINISHED":
            return
        self._name, self._begun, self._tags = name, _now(), {**self._tags, **tags}
        self._parameters = {
            key: value if isinstance(value, str) else json.dumps(value, default=str)
            for key, value in flatten(parameters)
        }
        resumed = {}
        if self._found and self._status != "RUNNING":
            resumed["failure"] = f"resumed after: {self._found.tags.get('failure', self._status)}"
        self._status = "RUNNING"
        self._buffer.add(
            lambda client, run: log_all(client, run, tags=resumed),
            lambda client, run: client.update_run(run, "RUNNING"),
        )

    def tag(self, tags: Mapping[str, str]) -> None:
        """Add tags."""
        self._buffer.add(lambda client, run: log_all(client, run, tags=tags))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Log values, except for steps that a resumed run recomputes."""
        now = _now()
        self._buffer.add(metrics=[(key, float(value), now, step) for key, value in values.items()])

    def image(self, step: int, name: str, image: Image) -> None:
        """Log an image, unless a resumed run has already logged it."""
        now, files = _now(), f"images/{name.replace('/', '~')}+step+{step}+*"

        def write(client: Any, run: str) -> None:
            there = [*local_path(client.get_run(run).info.artifact_uri).glob(files)]
            if len(there) == 2:  # the picture, and a thumbnail for MLflow's UI
                return
            for half in there:  # left by a killed process
                half.unlink()
            client.log_image(run, image, key=name, step=step, timestamp=now)

        self._buffer.add(write)

    def finish(self, scores: Mapping[str, float], artifacts: Mapping[str, bytes]) -> None:
        """Mark the run finished, with the scores of the selected weights, and files by name."""
        if self._status == "FINISHED":
            return
        self._status, now = "FINISHED", _now()
        # Under other names than the curves, which would get two values at a step.
        final = [(f"final/{key}", float(value), now, 0) for key, value in scores.items()]
        patches = self._parameters.get("train.validation_patches", "")
        about = {**self._tags, "validation_patches": patches}
        version = {key: str(value) for key, value in scores.items()}
        version |= {key: about.get(key, "") for key in VALIDATED_ON}

        def write(client: Any, run: str) -> None:
            self._log_once(client, run, final)
            with tempfile.TemporaryDirectory() as folder:
                files, model = Path(folder) / "files", Path(folder) / "model"
                _write_files(files, artifacts)
                client.log_artifacts(run, str(files))
                if {WEIGHTS, CARD} <= artifacts.keys():
                    name = f"idemnet-{about['task']}"
                    save_model(model, files)
                    client.log_artifacts(run, str(model), "model")
                    add_version(client, run, name, version)
                    promote(client, run, name)
            client.set_terminated(run, "FINISHED", now)

        self._buffer.add(write)

    def evaluated(self, fingerprint: str, metrics: Metrics, artifacts: Mapping[str, bytes]) -> None:
        """Add the scores of a report, once."""
        if self._found and self._found.tags.get("evaluation") == fingerprint:
            return
        now, numbers = _now(), metrics.model_dump()
        values = [(name, value, now, step) for name, step, value in curves(numbers, "test")]
        tags = {"protocol": metrics.protocol, "evaluation": fingerprint}

        def write(client: Any, run: str) -> None:
            self._log_once(client, run, values)
            client.log_dict(run, numbers, EVALUATION)
            with tempfile.TemporaryDirectory() as folder:
                _write_files(Path(folder), artifacts)
                client.log_artifacts(run, folder, "report")
            log_all(client, run, tags=tags)

        self._buffer.add(write)

    def fail(self, reason: str) -> None:
        """Mark the run failed, if it was started and has not finished."""
        if self._status != "RUNNING":
            return
        tags, now = {"failure": without_secrets(reason)}, _now()
        status = "KILLED" if reason == INTERRUPTED else "FAILED"
        self._buffer.add(
            lambda client, run: log_all(client, run, tags=tags),
            lambda client, run: client.set_terminated(run, status, now),
        )

    def flush(self) -> None:
        """Wait until everything is stored, so that no checkpoint is ahead of its metrics."""
        self._buffer.flush()

    def close(self) -> None:
        """Store what is left, if possible."""
        if self._monitor:
            self._monitor.finish()
        self._buffer.close()

    def _open(self) -> Opened:
        """Find or create the run; add missing parameters and tags."""
        uri = sqlite_uri(self._store)
        client = connect(uri)
        found = find_run(self._store, self._fingerprint)
        run = found.id if found else self._create(client, uri)
        stored = found or TrackedRun("", run, {}, {}, {}, {})
        parameters, tags = (
            {key: value for key, value in wanted.items() if key not in there}
            for wanted, there in ((self._parameters, stored.parameters), (self._tags, stored.tags))
        )
        log_all(client, run, (), parameters, tags)
        if "data_fingerprint" in self._tags:
            client.log_inputs(run, datasets=[_dataset(self._tags)])
        if self._status == "RUNNING" and not self._monitor:
            self._monitor = _monitor(run, uri)
        steps = "select key, max(step) from metrics where run_uuid = ? group by key"
        return client, run, dict(Database(self._store).select(steps, run))

    def _create(self, client: Any, uri: str) -> str:
        tags = {"fingerprint": self._fingerprint}
        if parent := find_run(self._store, self._tags.get("parent", "")):
            tags["mlflow.parentRunId"] = parent.id
        place = find_or_create_experiment(client, uri, self._experiment)
        run = client.create_run(place, self._begun, tags, self._name)
        return str(run.info.run_id)

    def _log_once(self, client: Any, run: str, values: Iterable[Value]) -> None:
        """Log values that the run does not have yet; a killed process may have logged some."""
        stored = "select key, value, step from metrics where run_uuid = ? and is_nan = 0"
        known = set(Database(self._store).select(stored, run))
        log_all(client, run, [one for one in values if (one[0], one[1], one[3]) not in known])


def curves(figures: Any, name: str, step: int = 0) -> Iterator[tuple[str, int, float]]:
    """Yield every number with its name and step.

    Values over a number (pass, iteration, level, sigma) become one curve, since MLflow draws and
    compares curves; all other keys become part of the name.
    """
    if isinstance(figures, Mapping):
        for key, value in figures.items():
            if key.isdigit():
                yield from curves(value, name, int(key))
            else:
                yield from curves(value, f"{name}/{key}", step)
    elif isinstance(figures, Sequence) and not isinstance(figures, str):
        for number, value in enumerate(figures, 1):
            yield from curves(value, name, number)
    elif not isinstance(figures, str):
        yield name, step, float(figures)


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path_inside(folder, name).write_bytes(content)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _dataset(tags: Mapping[str, str]) -> Any:
    """Return a training's data as an MLflow dataset input, identified by its fingerprint."""
    from mlflow.entities import Dataset, DatasetInput, InputTag  # noqa: PLC0415

    source = json.dumps({"tags": {key: tags[key] for key in SOURCE if key in tags}})
    digest = tags["data_fingerprint"][:16]  # MLflow allows 36 characters
    context = InputTag("mlflow.data.context", "training")
    return DatasetInput(Dataset(tags["dataset"], digest, "code", source), [context])


def _monitor(run: str, uri: str) -> Any:
    """Start MLflow's system metrics, if they are enabled."""
    if os.environ.get("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "").lower() not in ("true", "1"):
        return None
    from mlflow.system_metrics import system_metrics_monitor  # noqa: PLC0415

    kind: Any = system_metrics_monitor.SystemMetricsMonitor
    monitor = kind(run, resume_logging=True, tracking_uri=uri)
    monitor.start()
    return monitor
