"""Copy the project's runs to another store, such as a team's server.

Pushing is idempotent and resumes after an interruption: a copy is tagged with the original's run
ID, MLflow ignores a metric with the same step, time and value, and files overwrite themselves.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from idemnet.errors import BadInputError
from idemnet.tracking.registry import register
from idemnet.tracking.store import PREFIX, connect, find_or_create_experiment, log_all, run_files
from idemnet.tracking.uri import SQLITE, explain, sqlite_path, sqlite_uri

ORIGIN = "idemnet.run"
"""Tag of a copy: the original's run ID."""
PUSHED = "idemnet.pushed"
"""Tag of a complete copy: the state of the original at that time."""
PARENT = "mlflow.parentRunId"


def push_target(store: Path) -> str:
    """Return MLFLOW_TRACKING_URI if it names another store, else nothing."""
    uri = os.environ.get("MLFLOW_TRACKING_URI", "")
    return "" if uri.startswith(SQLITE) and sqlite_path(uri) == store.resolve() else uri


def push(store: Path, uri: str) -> Iterator[tuple[str, str, bool]]:
    """Copy every run of the project's store to another one.

    Yields:
        A run's name, a message, and whether it succeeded.

    Raises:
        BadInputError: If another process is pushing.
        Exception: Whatever MLflow raises if the other store cannot be reached.
    """
    try:  # two pushes could both create a run's copy
        with FileLock(store.parent / f".{store.name}.push", timeout=0):
            yield from _push(store, uri)
    except Timeout:
        raise BadInputError(f"{store}: another process is pushing it") from None


def _push(store: Path, uri: str) -> Iterator[tuple[str, str, bool]]:
    local, target = connect(sqlite_uri(store)), connect(uri)
    experiments = local.search_experiments(filter_string=f"name LIKE '{PREFIX}%'")
    places = {
        one.experiment_id: find_or_create_experiment(target, uri, one.name) for one in experiments
    }
    # Oldest first: a study before its cells.
    for run in local.search_runs([*places], max_results=50_000, order_by=["start_time"]):
        try:
            copied = _copy(store, local, target, run, places)
        except Exception as error:  # any exception: the next run may succeed
            yield run.info.run_name, f"MLflow error: {explain(error, uri)}", False
            target.search_experiments(max_results=1)  # unless the store cannot be reached
        else:
            yield run.info.run_name, "pushed" if copied else "nothing to do", True


def _copy(store: Path, local: Any, target: Any, run: Any, places: Mapping[str, str]) -> bool:
    """Copy the missing parts of a run; return whether there were any."""
    info, data, tags = run.info, run.data, dict(run.data.tags)
    copy = _find_copy(target, places, info.run_id) or target.create_run(
        places[info.experiment_id], info.start_time, {ORIGIN: info.run_id}, info.run_name
    )
    number = copy.info.run_id
    state = json.dumps([info.status, info.end_time, tags, data.metrics], sort_keys=True)
    digest = hashlib.sha256(state.encode()).hexdigest()
    if copy.data.tags.get(PUSHED) == digest:
        return False
    if parent := _find_copy(target, places, tags.get(PARENT, "")):
        tags[PARENT] = parent.info.run_id
    metrics = [
        (one.key, one.value, one.timestamp, one.step)
        for key in data.metrics
        for one in local.get_metric_history(info.run_id, key)
    ]
    log_all(target, number, metrics, data.params, tags)
    target.log_inputs(number, run.inputs.dataset_inputs)
    # Images never change, so only missing ones are copied.
    there = {one.path: one.file_size for one in target.list_artifacts(number, "images")}
    files = run_files(store, info.run_id)
    for path in sorted(path for path in files.rglob("*") if path.is_file()):
        name = path.relative_to(files)
        if there.get(name.as_posix()) != path.stat().st_size:
            target.log_artifact(number, str(path), name.parent.as_posix().strip("."))
    for version in local.search_model_versions(f"run_id = '{info.run_id}'"):
        register(target, number, version.name, version.tags)
    if info.status == "RUNNING":
        target.update_run(number, "RUNNING")
    else:
        target.set_terminated(number, info.status, info.end_time)
    target.set_tag(number, PUSHED, digest)
    return True


def _find_copy(target: Any, places: Mapping[str, str], original: str) -> Any:
    query = f"tags.`{ORIGIN}` = '{original}'"
    found = target.search_runs([*places.values()], query, max_results=1)
    return found[0] if found else None
