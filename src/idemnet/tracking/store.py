"""MLflow stores: the project's own, mlflow.db with its runs' files in mlruns/, and others."""

import os
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from idemnet.tracking.uri import SQLITE, sqlite_path, sqlite_uri

Value = tuple[str, float, int, int]
"""A metric: name, value, time in milliseconds, step."""
PREFIX = "idemnet-"
"""Prefix of the names of experiments and registered models."""
KIND = {"mlflow.experimentKind": "custom_model_development"}
"""MLflow's experiment kind for model training. The UI of 3.17 ignores it and shows the last chosen
view, GenAI at first (github.com/mlflow/mlflow/issues/24498), unless the address says which."""
LOCK_SECONDS = 2
"""Seconds to wait for another process that writes the database."""
LOCATIONS = (
    ("runs", "artifact_uri"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
    ("experiments", "artifact_location"),
)
"""Tables and columns of MLflow's database that contain artifact URIs."""


def configure(patience: int = 4) -> None:
    """Make MLflow quiet, and its requests fail after seconds, not minutes; set variables win."""
    settings = {
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(patience),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # pushing again resumes
        "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # we log errors ourselves, once
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # it would log passwords
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)


def connect(uri: str) -> Any:
    """Return an MLflow client; creates the database if there is none.

    Raises:
        sqlite3.Error: If a database cannot be written.
    """
    configure()
    if uri.startswith(SQLITE):
        path = sqlite_path(uri)
        if not path.exists():
            _make_database(path)
        # MLflow would retry for minutes to open an unreadable file, and wait 20 s for a lock.
        with closing(sqlite3.connect(path, timeout=LOCK_SECONDS)) as store:
            store.execute("begin immediate")
        relocate_artifacts(path)
    return _client(uri)


def relocate_artifacts(database: Path) -> None:
    """Update our experiments in a copied or moved database to the artifacts next to it.

    MLflow stores absolute URIs: without this, a copy of a project would write into the original.

    Raises:
        sqlite3.Error: If it cannot be read, or cannot be written when needed.
    """
    ours = _artifacts(database).as_uri()
    query = "select distinct artifact_location from experiments where name like ?"
    with closing(sqlite3.connect(database, timeout=LOCK_SECONDS)) as store, store:
        for (theirs,) in store.execute(query, [f"{PREFIX}%"]).fetchall():
            for table, column in LOCATIONS if theirs != ours else ():
                store.execute(
                    f"update {table} set {column} = "  # noqa: S608
                    f"rtrim(replace({column} || '/', :theirs, :ours), '/') "
                    f"where instr({column} || '/', :theirs) = 1",
                    {"theirs": f"{theirs}/", "ours": f"{ours}/"},
                )


def run_files(database: Path, run: str) -> Path:
    """Return the folder of a run's files."""
    return _artifacts(database) / run / "artifacts"


def find_or_create_experiment(client: Any, uri: str, name: str) -> str:
    """Return an experiment's ID, creating it if needed."""
    if found := client.get_experiment_by_name(name):
        return str(found.experiment_id)
    # MLflow would put files into the working directory.
    location = _artifacts(sqlite_path(uri)).as_uri() if uri.startswith(SQLITE) else None
    return str(client.create_experiment(name, location, KIND))


def log_all(
    client: Any,
    run: str,
    metrics: Iterable[Value] = (),
    parameters: Mapping[str, str] = MappingProxyType({}),
    tags: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Log any number of values, in batches, truncated to MLflow's limits."""
    from mlflow.entities import Metric, Param, RunTag  # noqa: PLC0415

    batches: list[tuple[str, int, list[Any]]] = [
        ("metrics", 1000, [Metric(*one) for one in metrics]),
        ("params", 100, [Param(key, text[:6000]) for key, text in parameters.items()]),
        ("tags", 100, [RunTag(key, text[:8000]) for key, text in tags.items()]),
    ]
    for kind, size, values in batches:
        for start in range(0, len(values), size):
            client.log_batch(run, **{kind: values[start : start + size]})


def _artifacts(database: Path) -> Path:
    return database.resolve().parent / "mlruns"


def _client(uri: str) -> Any:
    from mlflow import MlflowClient  # noqa: PLC0415  # takes seconds

    client = MlflowClient(uri, uri)
    if uri.startswith(SQLITE) and "%" in uri:
        # MLflow has created a folder named by the unescaped URI.
        with suppress(OSError):
            os.removedirs(Path(uri.removeprefix(SQLITE)).parent)
    return client


def _make_database(path: Path) -> None:
    """Create a database atomically with all its tables: a kill would leave a partial one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".mlflow.", dir=path.parent) as place:
        new = Path(place) / path.name
        _client(sqlite_uri(new)).search_experiments(max_results=1)
        if not path.exists():
            new.rename(path)
