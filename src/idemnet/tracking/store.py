"""What MLflow is told: copies of journals, made beside the training or later, each line once.

Everything here can be done again: a run is found by its journal's number, MLflow takes a metric
with the same step, time and value as the one it has, and files are overwritten by themselves.
"""

import itertools
import json
import logging
import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from idemnet.errors import BadInputError
from idemnet.storage.atomic import write_atomic
from idemnet.system.locks import try_lock
from idemnet.tracking.journal import JOURNAL, Line, read_on, read_start
from idemnet.tracking.run import RunCopy
from idemnet.tracking.uri import SQLITE, explain, sqlite_path, sqlite_uri, without_secrets

logger = logging.getLogger(__name__)

PROGRESS = "mlflow.json"
LINES_AT_ONCE = 200
ARTIFACTS = "mlruns"
"""Folder beside a database in which the files of its runs lie."""
HOLD_LOCATIONS = (
    ("runs", "artifact_uri"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
    ("logged_models", "artifact_location"),
    ("experiments", "artifact_location"),
)
"""Tables and columns of MLflow's database with addresses of artifacts."""
KIND = {"mlflow.experimentKind": "custom_model_development"}
"""What MLflow calls an experiment of model training. Its page of 3.17 shows what was chosen there
last, GenAI at first, and not what this says (github.com/mlflow/mlflow/issues/24498)."""
LATER = "`idemnet track replay` will copy the rest"


def configure(patience: int = 4) -> None:
    """Make MLflow give up early; by default one call may take four minutes. What is set stays.

    Args:
        patience: Seconds for one request.
    """
    settings = {
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(patience),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # we come again by ourselves
        "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # what there is to say, we say once
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # it would show passwords
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)


class Progress:
    """What of a journal is where, by the store's address: a store never seen is told everything."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / PROGRESS
        stored: dict[str, Any] = {}
        with suppress(FileNotFoundError, ValueError):  # broken: then everything is told again
            stored = json.loads(self._path.read_bytes())
        self.uri: str = stored.get("uri", "")
        self.experiment: str = stored.get("experiment", "idemnet")
        self._copied: dict[str, dict[str, Any]] = stored.get("copied", {})

    def aim(self, uri: str, experiment: str) -> None:
        """Remember for a replay where this journal is meant to go; `""`: the project's own file."""
        self.uri, self.experiment = without_secrets(uri), experiment
        self._save()

    def at(self, uri: str) -> tuple[str | None, int]:
        """Return the run in this store, and up to which byte it has the journal."""
        there = self._copied.get(without_secrets(uri), {})
        return there.get("run"), there.get("bytes", 0)

    def reached(self, uri: str, run: str, end: int) -> None:
        self._copied[without_secrets(uri)] = {"run": run, "bytes": end}
        self._save()

    def _save(self) -> None:
        stored = {"uri": self.uri, "experiment": self.experiment, "copied": self._copied}
        write_atomic(self._path, [json.dumps(stored, indent=1, ensure_ascii=False).encode()])


def upload(folder: Path, uri: str, experiment: str) -> int:
    """Copy to MLflow what it does not have yet of a journal; return the number of lines.

    Raises:
        BadInputError: If another process is copying this journal.
        Exception: Whatever MLflow raises; what was copied until then is remembered.
    """
    if not (folder / JOURNAL).exists():
        return 0
    with _alone(folder):
        progress = Progress(folder)
        run, end = progress.at(uri)
        pending = read_on(folder, end)
        if not pending:
            return 0
        start = read_start(folder)
        client = _connect(uri)
        if run is None or not _exists(client, run):
            run = _find_or_create_run(client, start, uri, experiment)
            pending = read_on(folder, 0)
        copy = RunCopy(client, run, folder, start)
        for batch in _batches(pending):
            copy([line for line, _ in batch])
            progress.reached(uri, run, batch[-1][1])
        return len(pending)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One copier at a time: two could both create the run."""
    with (folder / ".mlflow.lock").open("a") as lock:
        try:
            try_lock(lock)
        except BlockingIOError:
            raise BadInputError(f"{folder}: another process is copying it") from None
        yield


def _batches(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Put neighbouring metrics together; everything else goes alone."""
    for kind, group in itertools.groupby(lines, lambda line: line[0]["kind"]):
        size = LINES_AT_ONCE if kind == "metrics" else 1
        while batch := list(itertools.islice(group, size)):
            yield batch


def _connect(uri: str) -> Any:
    configure()
    if not uri.startswith(SQLITE):
        return _client(uri)
    path = sqlite_path(uri)
    if not path.exists():
        _make_database(path)
    sqlite3.connect(path).close()  # MLflow would try for minutes to open what cannot be opened
    follow_move(uri)
    return _client(uri)


def follow_move(uri: str) -> None:
    """Point a database that was copied or moved to the artifacts beside it.

    MLflow stores absolute addresses: without this, a copy of a project would write into the
    original. Only folders that this module has named are replaced, and only if they are gone or
    belong to another database; an artifact location that a person chose stays.
    """
    if not uri.startswith(SQLITE) or not (path := sqlite_path(uri)).exists():
        return
    ours = _artifacts_beside(path)
    with closing(sqlite3.connect(path)) as store, store:
        for (theirs,) in store.execute("select distinct artifact_location from experiments"):
            if theirs == ours or not theirs.endswith(f"/{ARTIFACTS}"):
                continue
            place = Path(unquote(theirs.removeprefix("file://")))
            if place.exists() and not (place.parent / path.name).exists():
                continue
            for table, column in HOLD_LOCATIONS:
                store.execute(
                    f"update {table} set {column} = ? || substr({column}, ?) "  # noqa: S608
                    f"where substr({column} || '/', 1, ?) = ?",
                    (ours, len(theirs) + 1, len(theirs) + 1, f"{theirs}/"),
                )


def _artifacts_beside(database: Path) -> str:
    return (database.parent / ARTIFACTS).as_uri()


def _client(uri: str) -> Any:
    from mlflow import MlflowClient  # noqa: PLC0415  # takes seconds

    client = MlflowClient(uri, uri)
    if uri.startswith(SQLITE) and "%" in uri:
        # MLflow has made the folder that the address would name without escapes.
        with suppress(OSError):
            os.removedirs(Path(uri.removeprefix(SQLITE)).parent)
    return client


def _make_database(path: Path) -> None:
    """Make a new database appear with all its tables: made in place, a kill would leave half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".mlflow.", dir=path.parent) as place:
        new = Path(place) / path.name
        _client(sqlite_uri(new)).search_experiments(max_results=1)
        if not path.exists():
            new.rename(path)


def _exists(client: Any, run: str) -> bool:
    from mlflow import MlflowException  # noqa: PLC0415

    try:
        client.get_run(run)
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            return False
        raise
    return True


def _find_or_create_run(client: Any, start: Mapping[str, Any], uri: str, experiment: str) -> str:
    place = _experiment(client, uri, experiment)
    # Created by a process that was killed before it could write the run's number down?
    found = client.search_runs([place], f"tags.journal = '{start['id']}'", max_results=1)
    if found:
        return str(found[0].info.run_id)
    tags = {"journal": start["id"]}
    if "parent" in start["tags"]:
        # Made here if its own journal was not copied yet, which will find it.
        name = f"study-{start['tags']['study']}"
        parent = {**start, "id": start["tags"]["parent"], "name": name, "tags": {}}
        tags["mlflow.parentRunId"] = _find_or_create_run(client, parent, uri, experiment)
    run = client.create_run(place, start_time=start["time"], run_name=start["name"], tags=tags)
    return str(run.info.run_id)


def _experiment(client: Any, uri: str, name: str) -> str:
    found = client.get_experiment_by_name(name)
    if found is not None:
        for key in KIND.keys() - found.tags.keys():  # made before idemnet set it
            client.set_experiment_tag(found.experiment_id, key, KIND[key])
        return str(found.experiment_id)
    location = None
    if uri.startswith(SQLITE):  # MLflow would choose the folder that the command was called in
        location = _artifacts_beside(sqlite_path(uri))
    return str(client.create_experiment(name, artifact_location=location, tags=KIND))


class Uploader(threading.Thread):
    """Copies a journal while it grows; whatever happens to the server, the training hears nothing.

    A daemon: an exit does not wait for it.
    """

    def __init__(self, folder: Path, uri: str, experiment: str, interval: float = 3) -> None:
        super().__init__(name="mlflow", daemon=True)
        self._journal = folder, uri, experiment
        self._interval = interval
        self._closing = threading.Event()
        self._in_trouble = False

    def run(self) -> None:
        wait = self._interval
        closing = False
        while not closing:
            closing = self._closing.wait(wait)
            wait = self._interval if self._upload() else min(2 * wait, 60)

    def close(self, timeout: float = 8) -> None:
        """Copy what is left, if that is possible in this time."""
        self._closing.set()
        self.join(timeout)
        if self.is_alive() or self._in_trouble:
            logger.warning("tracking: MLflow does not have all of this run, %s", LATER)

    def _upload(self) -> bool:
        folder, uri, experiment = self._journal
        try:
            if folder.exists():
                upload(folder, uri, experiment)
        except Exception as error:  # whatever it is, it must not end the training
            if not self._in_trouble:
                logger.warning(
                    "tracking: %s; the run goes on, its journal keeps everything",
                    explain(error, uri),
                )
            self._in_trouble = True
        else:
            self._in_trouble = False
        return not self._in_trouble
