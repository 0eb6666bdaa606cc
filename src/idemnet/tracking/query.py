"""Find runs in MLflow by name, ID or tag."""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from idemnet.errors import BadInputError
from idemnet.steps.data import TrackedRun
from idemnet.tracking.store import LOCK_SECONDS, PREFIX, configure
from idemnet.tracking.uri import SQLITE, sqlite_path, without_secrets

logger = logging.getLogger(__name__)

CURVES = "test/repeat/"
"""Prefix of the metrics that are read with all their steps."""
NUMBER = "iif(is_nan, 'nan', value)"
"""Value of a metric in MLflow's tables."""
ReadCurve = Callable[[str, str], list[tuple[int, float]]]
"""Reads the values of a run's metric, by step."""


def find_runs(uri: str, wanted: Sequence[str]) -> list[TrackedRun]:
    """Find runs by name, by the start of their run ID, or by a tag, `key=value`.

    Raises:
        BadInputError: If no run matches, or there is no store.
    """
    runs, curve = _read_file(uri) if uri.startswith(SQLITE) else _read_server(uri)
    chosen: dict[str, TrackedRun] = {}
    for name in wanted:
        found = [run for run in runs if _is_meant(run, name)]
        if not found:
            known = ", ".join(run.name for run in runs[:5]) or "none"
            raise BadInputError(
                f"run '{name}' not found in {without_secrets(uri)}, the latest are: {known}"
            )
        chosen.update((run.id, run) for run in found)
    return [
        replace(
            run,
            # Older runs have dots in names.
            metrics={name.replace(".", "/"): value for name, value in run.metrics.items()},
            curves={key: curve(run.id, key) for key in run.metrics if key.startswith(CURVES)},
        )
        for run in chosen.values()
    ]


def local_runs(store: Path, tag: str, value: str) -> list[TrackedRun]:
    """Return the runs with a tag, the latest first; none if the store cannot be read."""
    try:
        return read_runs(store, tag, value) if store.exists() else []
    except BadInputError as error:
        logger.warning("tracking: %s", error)
        return []


def find_run(store: Path, fingerprint: str) -> TrackedRun | None:
    """Return the run with a fingerprint."""
    return next(iter(local_runs(store, "fingerprint", fingerprint)), None)


def read_runs(database: Path, tag: str = "", value: str = "") -> list[TrackedRun]:
    """Return every run, or those with a tag, the latest first, without curves."""

    def read(run: str, table: str, column: str = "value", kind: type = str) -> dict[str, Any]:
        query = f"select key, {column} from {table} where run_uuid = ?"  # noqa: S608
        return {key: kind(value) for key, value in select(database, query, run)}

    query = (
        "select runs.name, run_uuid, status from runs join experiments using (experiment_id) "
        "where experiments.name like ? || '%' "
        "and runs.lifecycle_stage = 'active' and experiments.lifecycle_stage = 'active' "
        "and (? = '' or run_uuid in (select run_uuid from tags where key = ? and value = ?)) "
        "order by start_time desc, run_uuid"
    )
    return [
        TrackedRun(
            name,
            run,
            read(run, "tags"),
            read(run, "params"),
            read(run, "latest_metrics", NUMBER, float),
            status=status,
        )
        for name, run, status in select(database, query, PREFIX, tag, tag, value)
    ]


def read_curve(database: Path, run: str, metric: str) -> list[tuple[int, float]]:
    """Return a metric's values, by step."""
    query = f"select step, {NUMBER} from metrics where run_uuid = ? and key = ?"  # noqa: S608
    rows = select(database, f"{query} order by step, timestamp", run, metric)
    return [(step, float(number)) for step, number in rows]


def select(database: Path, query: str, *values: str) -> list[Any]:
    """Return the rows of a query, without MLflow, whose import alone takes seconds.

    Raises:
        BadInputError: If this is not an MLflow database.
    """
    if not database.is_file():
        raise BadInputError(f"{database}: no runs are tracked here yet, train first")
    try:
        address = f"{database.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, LOCK_SECONDS, uri=True)) as connection:
            return connection.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise BadInputError(f"{database}: is not an MLflow database ({error})") from error


def _is_meant(run: TrackedRun, name: str) -> bool:
    key, is_tag, value = name.partition("=")
    if is_tag:
        return run.tags.get(key) == value
    return run.name == name or (len(name) >= 4 and run.id.startswith(name))


def _read_file(uri: str) -> tuple[list[TrackedRun], ReadCurve]:
    return read_runs(sqlite_path(uri)), partial(read_curve, sqlite_path(uri))


def _read_server(uri: str) -> tuple[list[TrackedRun], ReadCurve]:
    """Return a server's runs, as `read_runs` does, and a function that reads curves."""
    configure(patience=30)
    from mlflow import MlflowClient  # noqa: PLC0415  # takes seconds

    client = MlflowClient(uri, uri)
    places = client.search_experiments(filter_string=f"name LIKE '{PREFIX}%'")
    runs = client.search_runs([one.experiment_id for one in places], max_results=5000)

    def read_curve(run: str, metric: str) -> list[tuple[int, float]]:
        history = client.get_metric_history(run, metric)
        return [(one.step, one.value) for one in sorted(history, key=lambda one: one.step)]

    return [
        TrackedRun(
            run.info.run_name, run.info.run_id, run.data.tags, run.data.params, run.data.metrics,
            status=run.info.status,
        )
        for run in runs
    ], read_curve  # fmt: skip
