"""Runs as MLflow has them, found by whatever a person calls them."""

from collections.abc import Sequence
from typing import Any

from idemnet.datasets.mlflow_store import configure
from idemnet.datasets.mlflow_uri import SQLITE, sqlite_path, without_secrets
from idemnet.errors import BadInputError
from idemnet.recipes import TrackedRun

PREFIX = "idemnet-"
"""Of the experiments' names."""


def find_runs(uri: str, wanted: Sequence[str]) -> list[TrackedRun]:
    """Find runs by name, by the beginning of their number, or by a tag, `key=value`.

    Raises:
        BadInputError: If a name finds nothing, or there is no store.
    """
    configure(patience=30)
    if uri.startswith(SQLITE) and not sqlite_path(uri).is_file():
        raise BadInputError(f"{sqlite_path(uri)}: no runs are tracked here yet, train first")
    from mlflow import MlflowClient  # noqa: PLC0415  # takes seconds

    client = MlflowClient(uri, uri)
    places = [
        experiment.experiment_id
        for experiment in client.search_experiments()
        if experiment.name.startswith(PREFIX)
    ]
    runs = list(client.search_runs(places, max_results=5000)) if places else []
    chosen: dict[str, Any] = {}
    for name in wanted:
        found = [run for run in runs if _is_meant(run, name)]
        if not found:
            known = ", ".join(run.info.run_name for run in runs[:5]) or "none at all"
            raise BadInputError(
                f"no run is called '{name}' in {without_secrets(uri)}, the latest are: {known}"
            )
        chosen.update((run.info.run_id, run) for run in found)
    return [_read(client, run) for run in chosen.values()]


def _is_meant(run: Any, name: str) -> bool:
    key, is_tag, value = name.partition("=")
    if is_tag:
        return bool(run.data.tags.get(key) == value)
    return run.info.run_name == name or (len(name) >= 4 and run.info.run_id.startswith(name))


def _read(client: Any, run: Any) -> TrackedRun:
    curves = {
        name: [
            (point.step, point.value)
            for point in sorted(
                client.get_metric_history(run.info.run_id, name), key=lambda point: point.step
            )
        ]
        for name in run.data.metrics
        if name.startswith("test/repeat/")
    }
    return TrackedRun(
        run.info.run_name,
        run.info.run_id,
        run.data.tags,
        run.data.params,
        run.data.metrics,
        curves,
    )
