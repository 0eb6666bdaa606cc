"""Copy the project's runs to another store, such as a team's server.

Pushing is idempotent and resumes after an interruption: a copy is tagged with the original's run
ID, MLflow ignores a metric with the same step, time and value, and files overwrite themselves.
"""

import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from idemnet.errors import BadInputError
from idemnet.tracking.query import PREFIX
from idemnet.tracking.registry import CHAMPION, add_version, promote
from idemnet.tracking.store import connect, find_or_create_experiment, log_all
from idemnet.tracking.uri import SQLITE, explain, local_path, sqlite_path, sqlite_uri

logger = logging.getLogger(__name__)

ORIGIN = "idemnet.run"
"""Tag of a copy: the original's run ID."""
PUSHED = "idemnet.pushed"
"""Tag of a complete copy: the state of the original at that time."""
PARENT = "mlflow.parentRunId"


def push_target(store: Path) -> str:
    """Return MLFLOW_TRACKING_URI if it names another store, else None."""
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
    with _push_lock(store):
        local, target = connect(sqlite_uri(store)), connect(uri)
        copies: dict[str, str] = {}
        ours = local.search_experiments(filter_string=f"name LIKE '{PREFIX}%'")
        places = {
            one.experiment_id: find_or_create_experiment(target, uri, one.name) for one in ours
        }
        # Oldest first: a study before its cells.
        for run in local.search_runs([*places], max_results=50_000, order_by=["start_time"]):
            place = places[run.info.experiment_id]
            try:
                copied = _copy(local, target, run, place, copies)
            except Exception as error:  # any exception: the next run may succeed
                yield run.info.run_name, f"MLflow error: {explain(error, uri)}", False
                target.search_experiments(max_results=1)  # unless the store cannot be reached
            else:
                yield run.info.run_name, "pushed" if copied else "nothing to do", True
        for model in local.search_registered_models():
            if CHAMPION in model.aliases:
                champion = local.get_model_version(model.name, model.aliases[CHAMPION])
                if champion.run_id in copies:
                    promote(target, copies[champion.run_id], model.name)


@contextmanager
def _push_lock(store: Path) -> Iterator[None]:
    """Lock the store: two pushes could both create a run's copy."""
    lock = FileLock(store.parent / f".{store.name}.push")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BadInputError(f"{store}: another process is pushing it") from None
    except OSError as error:  # a file system without locks
        logger.warning("%s: cannot be locked (%s); push from one process only", store, error)
    try:
        yield
    finally:
        lock.release()


def _copy(local: Any, target: Any, run: Any, place: str, copies: dict[str, str]) -> bool:
    """Copy the missing parts of a run; return whether there were any."""
    info, data = run.info, run.data
    found = target.search_runs([place], f"tags.`{ORIGIN}` = '{info.run_id}'", max_results=1)
    [copy] = found or [
        target.create_run(place, info.start_time, {ORIGIN: info.run_id}, info.run_name)
    ]
    number = copies[info.run_id] = copy.info.run_id
    state = repr(
        [info.status, info.end_time, sorted(data.tags.items()), sorted(data.metrics.items())]
    )
    digest = hashlib.sha256(state.encode()).hexdigest()
    if copy.data.tags.get(PUSHED) == digest:
        return False
    metrics = [
        (one.key, one.value, one.timestamp, one.step)
        for key in data.metrics
        for one in local.get_metric_history(info.run_id, key)
    ]
    tags = {**data.tags, PARENT: copies.get(data.tags.get(PARENT), "")}
    log_all(target, number, metrics, data.params, {key: tags[key] for key in data.tags})
    target.log_inputs(number, run.inputs.dataset_inputs)
    _copy_files(local_path(info.artifact_uri), target, number)
    for version in local.search_model_versions(f"run_id = '{info.run_id}'"):
        add_version(target, number, version.name, version.tags)
    if info.status == "RUNNING":
        target.update_run(number, "RUNNING")
    else:
        target.set_terminated(number, info.status, info.end_time)
    target.set_tag(number, PUSHED, digest)
    return True


def _copy_files(folder: Path, target: Any, run: str) -> None:
    """Copy a run's files; images never change, so only missing ones are copied."""
    there = {one.path: one.file_size for one in target.list_artifacts(run, "images")}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        if there.get(name.as_posix()) != path.stat().st_size:
            below = name.parent.as_posix()
            target.log_artifact(run, str(path), "" if below == "." else below)
