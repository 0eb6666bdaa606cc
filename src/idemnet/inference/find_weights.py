"""Find weights by task, path, address on the Hugging Face Hub, or name in MLflow."""

import atexit
import re
import shutil
import tempfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from idemnet.errors import BadInputError
from idemnet.inference.weights import CARD, WEIGHTS
from idemnet.tasks import task_names

ANSWER_SECONDS = 2
MLFLOW = re.compile(r"mlflow:(?P<name>[^@]+)@(?P<alias>.+)")


def find_weights(name: str | Path) -> Path:
    """Return the path of a weights.safetensors.

    Raises:
        BadInputError: If there is none.
    """
    if str(name) in task_names():
        return _of_task(str(name))
    if match := MLFLOW.fullmatch(str(name)):
        return _of_mlflow(match["name"], match["alias"])
    if str(name).startswith("hf://"):
        from idemnet.fetch.hub import download_files  # noqa: PLC0415

        return download_files(str(name), CARD, WEIGHTS) / WEIGHTS
    path = Path(name).expanduser()
    path = path / WEIGHTS if path.is_dir() else path
    if not path.is_file():
        raise BadInputError(
            f"{path}: not found; weights can be a task, a path, hf://OWNER/NAME, "
            "or mlflow:NAME@ALIAS"
        )
    return path


def find_starter(task: str) -> Path:
    """Return the path of a task's bundled weights.

    Raises:
        BadInputError: If there are none.
    """
    path = _shipped(task)
    if not path.is_file():
        raise BadInputError(
            f"no weights for task '{task}' yet: train them with `kedro run "
            f"--pipeline=train_{task}`, or choose others with --weights"
        )
    return path


def _shipped(task: str) -> Path:
    return Path(str(files("idemnet"))) / "starter" / task / WEIGHTS


def _of_task(task: str) -> Path:
    """Return the bundled weights, or those trained in this project."""
    own = Path("data/06_models") / task / "builtin" / WEIGHTS
    try:
        return find_starter(task)
    except BadInputError:
        if own.is_file():
            return own
        raise


def _of_mlflow(name: str, alias: str) -> Path:
    """Download a registered model from MLFLOW_TRACKING_URI or the project's own store.

    Raises:
        BadInputError: If the model or store is not found, naming the store.
    """
    from idemnet.tracking.store import configure, relocate_artifacts  # noqa: PLC0415
    from idemnet.tracking.uri import (  # noqa: PLC0415
        SQLITE,
        explain,
        sqlite_path,
        tracking_uri,
        without_secrets,
    )

    wanted = f"mlflow:{name}@{alias}"
    configure(patience=30)
    uri = tracking_uri()
    if uri.startswith(SQLITE):
        if not sqlite_path(uri).is_file():  # MLflow would create the store
            raise BadInputError(
                f"{wanted}: no MLflow store at {sqlite_path(uri)}: run this in the project's "
                "folder, or set MLFLOW_TRACKING_URI"
            )
        relocate_artifacts(sqlite_path(uri))
    try:
        _check_answers(uri)
    except OSError as error:
        raise BadInputError(
            f"{wanted}: {without_secrets(uri)} does not answer ({explain(error, uri)})"
        ) from error
    from mlflow import MlflowClient, MlflowException  # noqa: PLC0415
    from mlflow.artifacts import download_artifacts  # noqa: PLC0415

    try:
        version = MlflowClient(uri, uri).get_model_version_by_alias(name, alias)
        place = download_artifacts(
            artifact_uri=f"{version.source}/artifacts", dst_path=_until_exit(), tracking_uri=uri
        )
    except (MlflowException, OSError) as error:
        raise BadInputError(
            f"{wanted}: not found in {without_secrets(uri)} ({explain(error, uri)})"
        ) from error
    return Path(place) / WEIGHTS


def _check_answers(uri: str) -> None:
    """Raise an error unless a server says anything within seconds; downloads may take longer."""
    import requests  # noqa: PLC0415

    if uri.startswith(("http://", "https://")):
        with suppress(requests.exceptions.SSLError):  # MLflow may be told to accept its certificate
            requests.head(uri, timeout=ANSWER_SECONDS, allow_redirects=False)


def _until_exit() -> str:
    """Make a folder that is deleted at exit; MLflow's own would stay."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
