"""A run in the project's own MLflow store.

All operations are idempotent: a run is found by its fingerprint, and nothing is stored twice.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from idemnet.imaging.image import Image
from idemnet.inference.weights import CARD, WEIGHTS
from idemnet.steps.data import TrackedRun
from idemnet.steps.metrics import Metrics
from idemnet.steps.plan import flatten
from idemnet.storage.atomic import path_inside
from idemnet.tracking.buffer import Buffer, Opened
from idemnet.tracking.query import find_run, select
from idemnet.tracking.registry import VALIDATED_ON, register, save_model
from idemnet.tracking.store import PREFIX, connect, find_or_create_experiment, log_all, run_files
from idemnet.tracking.uri import sqlite_uri, without_secrets

EVALUATION = "evaluation.json"


class Run:
    """A run; a resumed training continues it. Nothing is stored before something is logged."""

    def __init__(self, store: Path, fingerprint: str, tags: Mapping[str, str]) -> None:
        self._store, self._fingerprint = store, fingerprint
        self._tags = {**tags, "fingerprint": fingerprint}
        self._name, self._begun, self._parameters = "", 0, dict[str, str]()
        self._found = find_run(store, fingerprint)
        self._status = self._found.status if self._found else ""
        self._monitor: Any = None
        self._buffer = Buffer(store, self._open)
        self.flush, self._add = self._buffer.flush, self._buffer.add

    def start(self, name: str, parameters: Mapping[str, Any], tags: Mapping[str, str]) -> None:
        """Start the run, or resume one of an earlier process; nested parameters are flattened."""
        if self._status == "FINISHED":
            return
        self._name, self._begun, self._tags = name, _now(), {**self._tags, **tags}
        self._parameters = {
            key: value if isinstance(value, str) else json.dumps(value, default=str)
            for key, value in flatten(parameters)
        }
        if self._found and self._status != "RUNNING":
            failure = self._found.tags.get("failure", self._status)
            self.tag({"failure": f"resumed after: {failure}"})
        self._status = "RUNNING"
        self._add(lambda client, run: client.update_run(run, "RUNNING"))

    def tag(self, tags: Mapping[str, str]) -> None:
        """Add tags."""
        self._add(lambda client, run: log_all(client, run, tags=tags))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Log values, except for steps that a resumed run recomputes."""
        now = _now()
        self._add(metrics=[(key, float(value), now, step) for key, value in values.items()])

    def image(self, step: int, name: str, image: Image) -> None:
        """Log an image, unless a resumed run has already logged it."""
        now, files = _now(), f"images/{name.replace('/', '~')}+step+{step}+*"

        def write(client: Any, run: str) -> None:
            found = [*run_files(self._store, run).glob(files)]
            if len(found) == 2:  # the picture, and a thumbnail for MLflow's UI
                return
            for half in found:  # left by a killed process
                half.unlink()
            client.log_image(run, image, key=name, step=step, timestamp=now)

        self._add(write)

    def finish(self, scores: Mapping[str, float], artifacts: Mapping[str, bytes]) -> None:
        """Mark the run finished, with the scores of the selected weights, and files by name."""
        if self._status == "FINISHED":
            return
        self._status, now = "FINISHED", _now()
        about = {**self._tags, **self._parameters}
        about["validation_patches"] = about.get("train.validation_patches", "")
        version = {key: str(value) for key, value in scores.items()}
        version |= {key: about.get(key, "") for key in VALIDATED_ON}

        def write(client: Any, run: str) -> None:
            _log_files(client, run, artifacts)
            if {WEIGHTS, CARD} <= artifacts.keys():
                files = run_files(self._store, run)
                with tempfile.TemporaryDirectory() as folder:
                    model = Path(folder) / "model"
                    save_model(model, files / WEIGHTS, files / CARD)
                    client.log_artifacts(run, str(model), "model")
                register(client, run, PREFIX + about["task"], version)
            client.set_terminated(run, "FINISHED", now)

        # Under other names than the curves, which would get two values at a step.
        self.log(0, {f"final/{key}": value for key, value in scores.items()})
        self._add(write)

    def evaluated(self, fingerprint: str, metrics: Metrics, artifacts: Mapping[str, bytes]) -> None:
        """Add the scores of a report, once."""
        if self._found and self._found.tags.get("evaluation") == fingerprint:
            return
        now, numbers = _now(), metrics.model_dump()
        values = [(name, value, now, step) for name, step, value in curves(numbers, "test")]

        def write(client: Any, run: str) -> None:
            # A killed process may have logged some.
            stored = "select key, value, step from metrics where run_uuid = ? and is_nan = 0"
            known = set(select(self._store, stored, run))
            log_all(client, run, [one for one in values if (one[0], one[1], one[3]) not in known])
            client.log_dict(run, numbers, EVALUATION)
            _log_files(client, run, artifacts, "report")

        self._add(write)
        self.tag({"protocol": metrics.protocol, "evaluation": fingerprint})

    def fail(self, error: BaseException) -> None:
        """Mark the run failed, or killed if it was interrupted, unless it has finished."""
        if self._status == "RUNNING":
            is_failure, now = isinstance(error, Exception), _now()
            reason = f"{type(error).__name__}: {error}" if is_failure else "interrupted"
            status = "FAILED" if is_failure else "KILLED"
            self.tag({"failure": without_secrets(reason)})
            self._add(lambda client, run: client.set_terminated(run, status, now))

    def close(self) -> None:
        """Store what is left, if possible."""
        if self._monitor:
            self._monitor.finish()
        self._buffer.close()

    def _open(self) -> Opened:
        """Find or create the run; add missing parameters and tags."""
        uri = sqlite_uri(self._store)
        client = connect(uri)
        stored = find_run(self._store, self._fingerprint)
        if not stored:
            tags = {"fingerprint": self._fingerprint}
            if parent := find_run(self._store, self._tags.get("parent", "")):
                tags["mlflow.parentRunId"] = parent.id
            place = find_or_create_experiment(client, uri, PREFIX + self._tags["task"])
            new = client.create_run(place, self._begun, tags, self._name)
            stored = TrackedRun(self._name, new.info.run_id, tags, {}, {})
        parameters, tags = (
            {key: value for key, value in wanted.items() if key not in there}
            for wanted, there in ((self._parameters, stored.parameters), (self._tags, stored.tags))
        )
        log_all(client, stored.id, (), parameters, tags)
        if "data_fingerprint" in self._tags:
            client.log_inputs(stored.id, datasets=[_dataset(self._tags)])
        if self._status == "RUNNING" and not self._monitor:
            self._monitor = _start_system_metrics(stored.id, uri)
        steps = "select key, max(step) from metrics where run_uuid = ? group by key"
        return client, stored.id, dict(select(self._store, steps, stored.id))


def curves(figures: Any, name: str, step: int = 0) -> Iterator[tuple[str, int, float]]:
    """Yield every number with its name and step.

    Values over a number (pass, iteration, level, sigma) become one curve, since MLflow draws and
    compares curves; all other keys become part of the name.
    """
    if isinstance(figures, Mapping):
        for key, value in figures.items():
            below, at = (name, int(key)) if key.isdigit() else (f"{name}/{key}", step)
            yield from curves(value, below, at)
    elif isinstance(figures, Sequence) and not isinstance(figures, str):
        for number, value in enumerate(figures, 1):
            yield from curves(value, name, number)
    elif not isinstance(figures, str):
        yield name, step, float(figures)


def _log_files(client: Any, run: str, files: Mapping[str, bytes], place: str | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path_inside(Path(folder), name).write_bytes(content)
        client.log_artifacts(run, folder, place)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _dataset(tags: Mapping[str, str]) -> Any:
    """Return a training's data as an MLflow dataset input, identified by its fingerprint."""
    from mlflow.entities import Dataset, DatasetInput, InputTag  # noqa: PLC0415

    source = {"tags": {key: tags[key] for key in tags if key.startswith("mlflow.")}}
    digest = tags["data_fingerprint"][:16]  # MLflow allows 36 characters
    data = Dataset(tags["dataset"], digest, "code", json.dumps(source))
    return DatasetInput(data, [InputTag("mlflow.data.context", "training")])


def _start_system_metrics(run: str, uri: str) -> Any:
    """Start MLflow's system metrics, if they are enabled."""
    if os.environ.get("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "").lower() not in ("true", "1"):
        return None
    from mlflow.system_metrics import system_metrics_monitor  # noqa: PLC0415

    kind: Any = system_metrics_monitor.SystemMetricsMonitor
    monitor = kind(run, resume_logging=True, tracking_uri=uri)
    monitor.start()
    return monitor
