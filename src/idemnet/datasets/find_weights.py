"""Weights by whatever a person calls them: a task, a path, a model in MLflow."""

import re
from importlib.resources import files
from pathlib import Path

from idemnet.errors import BadInputError
from idemnet.models.packing import WEIGHTS
from idemnet.tasks import TASKS

MLFLOW = re.compile(r"mlflow:(?P<name>[^@]+)@(?P<alias>.+)")


def find_weights(name: str | Path) -> Path:
    """Give the path of a weights.safetensors.

    Raises:
        BadInputError: If there is none.
    """
    if str(name) in TASKS:
        return _of_task(str(name))
    if match := MLFLOW.fullmatch(str(name)):
        return _of_mlflow(match["name"], match["alias"])
    path = Path(name).expanduser()
    path = path / WEIGHTS if path.is_dir() else path
    if not path.is_file():
        raise BadInputError(
            f"{path}: is not there; weights are a task, a path, or mlflow:NAME@ALIAS"
        )
    return path


def find_starter(task: str) -> Path:
    """Give the path of the weights that are shipped for a task.

    Raises:
        BadInputError: If there are none.
    """
    path = Path(str(files("idemnet"))) / "starter" / task / WEIGHTS
    if not path.is_file():
        raise BadInputError(
            f"there are no weights for '{task}' yet: train some with `kedro run "
            f"--pipeline=train_{task}`, or name others with --weights"
        )
    return path


def _of_task(task: str) -> Path:
    """Take the weights that are shipped, or else those that were trained in this project."""
    own = Path("data/06_models") / task / "builtin" / WEIGHTS
    try:
        return find_starter(task)
    except BadInputError:
        if own.is_file():
            return own
        raise


def _of_mlflow(name: str, alias: str) -> Path:
    """Fetch a registered model's files, from MLFLOW_TRACKING_URI or the project's own store."""
    from idemnet.datasets.mlflow_store import configure  # noqa: PLC0415  # MLflow takes seconds
    from idemnet.datasets.mlflow_uri import tracking_uri  # noqa: PLC0415
    from idemnet.datasets.tracking import project_root  # noqa: PLC0415

    configure(patience=30)
    uri = tracking_uri("", project_root(Path.cwd()))
    from mlflow import MlflowClient, MlflowException  # noqa: PLC0415
    from mlflow.artifacts import download_artifacts  # noqa: PLC0415

    try:
        version = MlflowClient(uri, uri).get_model_version_by_alias(name, alias)
        place = download_artifacts(artifact_uri=f"{version.source}/artifacts", tracking_uri=uri)
    except MlflowException as error:
        raise BadInputError(f"mlflow:{name}@{alias}: {error.message}") from error
    return Path(place) / WEIGHTS
