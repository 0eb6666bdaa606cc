"""Runs as MLflow has them, found by whatever a person calls them."""

import math
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from idemnet.errors import BadInputError
from idemnet.steps.data import TrackedRun
from idemnet.tracking.run import with_slashes
from idemnet.tracking.store import configure
from idemnet.tracking.uri import SQLITE, sqlite_path, without_secrets

PREFIX = "idemnet-"
"""Of the experiments' names."""
CURVES = "test/repeat/"
"""Prefix of the metrics that are read with all their steps."""


def find_runs(uri: str, wanted: Sequence[str]) -> list[TrackedRun]:
    """Find runs by name, by the beginning of their number, or by a tag, `key=value`.

    Raises:
        BadInputError: If a name finds nothing, or there is no store.
    """
    store = _Database(sqlite_path(uri)) if uri.startswith(SQLITE) else _Server(uri)
    runs = store.runs()
    chosen: dict[str, TrackedRun] = {}
    for name in wanted:
        found = [run for run in runs if _is_meant(run, name)]
        if not found:
            known = ", ".join(run.name for run in runs[:5]) or "none at all"
            raise BadInputError(
                f"no run is called '{name}' in {without_secrets(uri)}, the latest are: {known}"
            )
        chosen.update((run.id, run) for run in found)
    return [
        replace(
            run,
            metrics=with_slashes(run.metrics),
            curves={
                name: store.curve(run.id, name) for name in run.metrics if name.startswith(CURVES)
            },
        )
        for run in chosen.values()
    ]


def _is_meant(run: TrackedRun, name: str) -> bool:
    key, is_tag, value = name.partition("=")
    if is_tag:
        return run.tags.get(key) == value
    return run.name == name or (len(name) >= 4 and run.id.startswith(name))


@dataclass(frozen=True)
class _Database:
    """MLflow's SQLite file, read without MLflow, whose import alone takes seconds."""

    path: Path

    def runs(self) -> list[TrackedRun]:
        """Return every run that is not deleted, the latest first, without curves."""
        if not self.path.is_file():
            raise BadInputError(f"{self.path}: no runs are tracked here yet, train first")
        runs = self._select(
            "select run_uuid, runs.name from runs join experiments using (experiment_id) "
            "where experiments.name like ? || '%' and runs.lifecycle_stage = 'active' "
            "and experiments.lifecycle_stage = 'active' order by start_time desc, run_uuid",
            PREFIX,
        )
        return [
            TrackedRun(
                name,
                run,
                dict(self._select("select key, value from tags where run_uuid = ?", run)),
                dict(self._select("select key, value from params where run_uuid = ?", run)),
                {
                    key: math.nan if is_nan else value
                    for key, value, is_nan in self._select(
                        "select key, value, is_nan from latest_metrics where run_uuid = ?", run
                    )
                },
                {},
            )
            for run, name in runs
        ]

    def curve(self, run: str, metric: str) -> list[tuple[int, float]]:
        """Return a metric's values, by step."""
        return [
            (step, math.nan if is_nan else value)
            for step, value, is_nan in self._select(
                "select step, value, is_nan from metrics where run_uuid = ? and key = ? "
                "order by step, timestamp",
                run,
                metric,
            )
        ]

    def _select(self, query: str, *values: str) -> list[Any]:
        try:
            with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as connection:
                return connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise BadInputError(f"{self.path}: is not an MLflow database ({error})") from error


class _Server:
    """A tracking server, asked through MLflow's client."""

    def __init__(self, uri: str) -> None:
        configure(patience=30)
        from mlflow import MlflowClient  # noqa: PLC0415  # takes seconds

        self._client = MlflowClient(uri, uri)

    def runs(self) -> list[TrackedRun]:
        """Return every run that is not deleted, the latest first, without curves."""
        places = [
            experiment.experiment_id
            for experiment in self._client.search_experiments()
            if experiment.name.startswith(PREFIX)
        ]
        runs = self._client.search_runs(places, max_results=5000) if places else []
        return [
            TrackedRun(
                run.info.run_name,
                run.info.run_id,
                run.data.tags,
                run.data.params,
                run.data.metrics,
                {},
            )
            for run in runs
        ]

    def curve(self, run: str, metric: str) -> list[tuple[int, float]]:
        """Return a metric's values, by step."""
        history = self._client.get_metric_history(run, metric)
        return [(point.step, point.value) for point in sorted(history, key=lambda one: one.step)]
