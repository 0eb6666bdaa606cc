"""Find runs in MLflow by name, ID or tag."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from idemnet.errors import BadInputError
from idemnet.steps.data import TrackedRun
from idemnet.tracking.store import LOCK_SECONDS, configure
from idemnet.tracking.uri import SQLITE, sqlite_path, without_secrets

Curve = Callable[[str, str], list[tuple[int, float]]]
"""Reads the values of a run's metric, by step."""
PREFIX = "idemnet-"
"""Prefix of experiment names."""
CURVES = "test/repeat/"
"""Prefix of the metrics that are read with all their steps."""
LATEST = "select key, iif(is_nan, 'nan', value) from latest_metrics where run_uuid = ?"
CURVE = (
    "select step, iif(is_nan, 'nan', value) from metrics where run_uuid = ? and key = ? "
    "order by step, timestamp"
)


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
            metrics=with_slashes(run.metrics),
            curves={name: curve(run.id, name) for name in run.metrics if name.startswith(CURVES)},
        )
        for run in chosen.values()
    ]


def with_slashes(scores: Mapping[str, float]) -> dict[str, float]:
    """Return scores with current names: older runs have dots instead of slashes."""
    return {name.replace(".", "/"): value for name, value in scores.items()}


def _is_meant(run: TrackedRun, name: str) -> bool:
    key, is_tag, value = name.partition("=")
    if is_tag:
        return run.tags.get(key) == value
    return run.name == name or (len(name) >= 4 and run.id.startswith(name))


@dataclass(frozen=True)
class Database:
    """MLflow's SQLite file, read without MLflow, whose import alone takes seconds."""

    path: Path

    def runs(self, tag: str = "", value: str = "") -> list[TrackedRun]:
        """Return every run that is not deleted, the latest first, without curves.

        Args:
            tag: Return only runs with this tag.
            value: Value of the tag.
        """
        if not self.path.is_file():
            raise BadInputError(f"{self.path}: no runs are tracked here yet, train first")
        runs = self.select(
            "select run_uuid, runs.name, status, artifact_uri from runs "
            "join experiments using (experiment_id) where experiments.name like ? || '%' "
            "and runs.lifecycle_stage = 'active' and experiments.lifecycle_stage = 'active' "
            "and (? = '' or run_uuid in (select run_uuid from tags where key = ? and value = ?)) "
            "order by start_time desc, run_uuid",
            PREFIX, tag, tag, value,
        )  # fmt: skip
        return [
            TrackedRun(
                name,
                run,
                dict(self.select("select key, value from tags where run_uuid = ?", run)),
                dict(self.select("select key, value from params where run_uuid = ?", run)),
                {key: float(text) for key, text in self.select(LATEST, run)},
                {},
                status,
                artifacts,
            )
            for run, name, status, artifacts in runs
        ]

    def curve(self, run: str, metric: str) -> list[tuple[int, float]]:
        """Return a metric's values, by step."""
        return [(step, float(text)) for step, text in self.select(CURVE, run, metric)]

    def select(self, query: str, *values: str) -> list[Any]:
        """Return the rows of a query.

        Raises:
            BadInputError: If this is not an MLflow database.
        """
        try:
            address = f"{self.path.as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, LOCK_SECONDS, uri=True)) as connection:
                return connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise BadInputError(f"{self.path}: is not an MLflow database ({error})") from error


def _read_file(uri: str) -> tuple[list[TrackedRun], Curve]:
    database = Database(sqlite_path(uri))
    return database.runs(), database.curve


def _read_server(uri: str) -> tuple[list[TrackedRun], Curve]:
    """Return a server's runs, as `Database` does, and a function that reads curves."""
    configure(patience=30)
    from mlflow import MlflowClient  # noqa: PLC0415  # takes seconds

    client = MlflowClient(uri, uri)
    places = client.search_experiments(filter_string=f"name LIKE '{PREFIX}%'")
    runs = client.search_runs([one.experiment_id for one in places], max_results=5000)
    found = [
        TrackedRun(
            run.info.run_name, run.info.run_id, run.data.tags, run.data.params, run.data.metrics,
            {}, run.info.status, run.info.artifact_uri,
        )
        for run in runs
    ]  # fmt: skip

    def curve(run: str, metric: str) -> list[tuple[int, float]]:
        history = client.get_metric_history(run, metric)
        return [(one.step, one.value) for one in sorted(history, key=lambda one: one.step)]

    return found, curve
