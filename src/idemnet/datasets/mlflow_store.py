"""What MLflow is told: copies of journals, made beside the training or later, each line once.

Everything here can be done again: a run is found by its journal's number, MLflow takes a metric
with the same step, time and value as the one it has, and files are overwritten by themselves.
"""

import fcntl
import itertools
import json
import logging
import os
import re
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from PIL import Image as PillowImage

from idemnet import __version__
from idemnet.datasets.files import write_whole
from idemnet.datasets.journal import ARTIFACTS, IMAGES, read_journal
from idemnet.errors import BadInputError

logger = logging.getLogger(__name__)

PROGRESS = "mlflow.json"
LINES_AT_ONCE = 200
METRICS_AT_ONCE = 500
PARAMETERS_AT_ONCE = 100
LONGEST_PARAMETER = 6000
LONGEST_TAG = 8000
SCORE = "validation.psnr"
CHAMPION = "champion"
SQLITE = "sqlite:///"
LATER = "`idemnet track replay` will copy the rest"


def tracking_uri(configured: str, root: Path) -> str:
    """Say where runs are tracked: MLFLOW_TRACKING_URI, what is configured, or a file at `root`."""
    return chosen_uri(configured) or f"{SQLITE}{root.resolve() / 'mlflow.db'}"


def chosen_uri(configured: str) -> str:
    """Say which store a person chose, if any."""
    return os.environ.get("MLFLOW_TRACKING_URI") or configured


def without_secrets(text: str) -> str:
    """Strip `user:password@` and queries from the addresses in a text."""
    text = re.sub(r"(\w://)[^/\s]*@", r"\1", text)
    return re.sub(r"(\w://[^\s?'\"]*)\?[^\s'\")]*", r"\1", text)


def explain(error: Exception, uri: str) -> str:
    """Say in one line what MLflow said, without what must not be shown."""
    text = " ".join(str(error).split()) or type(error).__name__
    for found in re.findall(r"\w://[^/\s]*:([^/\s]+)@", uri) + re.findall(r"\w://.*?\?(.+)", uri):
        for secret in (found, unquote(found)):
            text = text.replace(secret, "***")
    text = without_secrets(text)
    return text if len(text) <= 300 else f"{text[:300]}..."


def configure(patience: int = 4) -> None:
    """Have MLflow give up early; by default one call may take four minutes. What is set stays.

    Args:
        patience: Seconds for one request.
    """
    settings = {
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(patience),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # we come again by ourselves
        "MLFLOW_LOGGING_LEVEL": "WARNING",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)


class Progress:
    """What of a journal is where, by the store's address: a store never seen is told everything."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / PROGRESS
        stored = json.loads(self._path.read_bytes()) if self._path.exists() else {}
        self.uri: str = stored.get("uri", "")
        self.experiment: str = stored.get("experiment", "idemnet")
        self._copied: dict[str, dict[str, Any]] = stored.get("copied", {})

    def aim(self, uri: str, experiment: str) -> None:
        """Remember for a replay where this journal is meant to go; `""`: the project's own file."""
        self.uri, self.experiment = without_secrets(uri), experiment
        self._save()

    def at(self, uri: str) -> tuple[str | None, int]:
        """Give the run in this store, and how many lines it has."""
        there = self._copied.get(without_secrets(uri), {})
        return there.get("run"), there.get("lines", 0)

    def reached(self, uri: str, run: str, lines: int) -> None:
        self._copied[without_secrets(uri)] = {"run": run, "lines": lines}
        self._save()

    def _save(self) -> None:
        stored = {"uri": self.uri, "experiment": self.experiment, "copied": self._copied}
        write_whole(self._path, [json.dumps(stored, indent=1, ensure_ascii=False).encode()])


def upload(folder: Path, uri: str, experiment: str) -> int:
    """Copy to MLflow what it does not have yet of a journal; return the number of lines.

    Raises:
        BadInputError: If another process is copying this journal.
        Exception: Whatever MLflow raises; what was copied until then is remembered.
    """
    lines = read_journal(folder)
    start = next((line for line in lines if line["kind"] == "started"), None)
    if start is None:
        return 0
    with _alone(folder):
        progress = Progress(folder)
        run, done = progress.at(uri)
        if done == len(lines):
            return 0
        client = _connect(uri)
        if run is None or not _exists(client, run):
            run, done = _find_or_create_run(client, start, uri, experiment), 0
        copy = _Copy(client, run, folder, start)
        copied = 0
        for batch in _batches(lines[done:]):
            copy(batch)
            copied += len(batch)
            progress.reached(uri, run, done + copied)
        return copied


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One copier at a time: two could both create the run."""
    with (folder / ".mlflow.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInputError(f"{folder}: another process is copying it") from None
        yield


def _batches(lines: Sequence[dict[str, Any]]) -> Iterator[Sequence[dict[str, Any]]]:
    """Put neighbouring metrics together; everything else goes alone."""
    for kind, group in itertools.groupby(lines, lambda line: line["kind"]):
        size = LINES_AT_ONCE if kind == "metrics" else 1
        while batch := list(itertools.islice(group, size)):
            yield batch


def _connect(uri: str) -> Any:
    configure()
    from mlflow import MlflowClient  # noqa: PLC0415  # takes seconds

    if uri.startswith(SQLITE):
        if "?" in uri:
            raise BadInputError(f"{uri}: a database cannot be in a folder with '?' in its name")
        _make_database(Path(uri.removeprefix(SQLITE)))
    return MlflowClient(uri, uri)


def _make_database(path: Path) -> None:
    """Have a new database appear with all its tables: made in place, a kill would leave half."""
    from mlflow import MlflowClient  # noqa: PLC0415

    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".mlflow.", dir=path.parent) as place:
        new = Path(place) / path.name
        MlflowClient(f"{SQLITE}{new}").search_experiments(max_results=1)
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
    run = client.create_run(
        place, start_time=start["time"], run_name=start["name"], tags={"journal": start["id"]}
    )
    return str(run.info.run_id)


def _experiment(client: Any, uri: str, name: str) -> str:
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    location = None
    if uri.startswith(SQLITE):  # MLflow would choose the folder that the command was called in
        location = (Path(uri.removeprefix(SQLITE)).resolve().parent / "mlruns").as_uri()
    return str(client.create_experiment(name, artifact_location=location))


class _Copy:
    """Tells one MLflow run what lines say."""

    def __init__(self, client: Any, run: str, folder: Path, start: Mapping[str, Any]) -> None:
        self._client, self._run, self._folder, self._start = client, run, folder, start

    def __call__(self, batch: Sequence[Mapping[str, Any]]) -> None:
        match batch[0]["kind"]:
            case "metrics":
                self._metrics(batch)
            case "started":
                self._started(batch[0])
            case "image":
                self._image(batch[0])
            case "failed":
                self._failed(batch[0])
            case "resumed":
                self._resumed(batch[0])
            case "finished":
                self._finished(batch[0])

    def _started(self, line: Mapping[str, Any]) -> None:
        from mlflow.entities import Param, RunTag  # noqa: PLC0415

        tags = [RunTag(key, str(value)[:LONGEST_TAG]) for key, value in line["tags"].items()]
        parameters = [
            Param(key, (value if isinstance(value, str) else json.dumps(value))[:LONGEST_PARAMETER])
            for key, value in line["parameters"].items()
        ]
        self._client.log_batch(self._run, tags=tags)
        for some in _chunks(parameters, PARAMETERS_AT_ONCE):
            self._client.log_batch(self._run, params=some)

    def _metrics(self, lines: Sequence[Mapping[str, Any]], prefix: str = "") -> None:
        from mlflow.entities import Metric  # noqa: PLC0415

        metrics = [
            Metric(prefix + key, value, line["time"], line["step"])
            for line in lines
            for key, value in line["values"].items()
        ]
        for some in _chunks(metrics, METRICS_AT_ONCE):
            self._client.log_batch(self._run, metrics=some)

    def _image(self, line: Mapping[str, Any]) -> None:
        """Log an image as `log_image` would, which names it anew each time it is called."""
        path = self._folder / IMAGES / line["file"]
        number = uuid.uuid5(uuid.UUID(self._start["id"]), line["file"])
        key = line["name"].replace("/", "~")
        name = f"{key}+step+{line['step']}+timestamp+{line['time']}+{number}"
        with tempfile.TemporaryDirectory() as place:
            shutil.copyfile(path, Path(place) / f"{name}.png")
            small = PillowImage.open(path)
            small.thumbnail((256, 256))
            small.save(Path(place) / f"{name}+compressed.webp")
            self._files(Path(place), "images")
        self._client.set_tag(self._run, "mlflow.loggedImages", "True")

    def _resumed(self, line: Mapping[str, Any]) -> None:
        self._client.update_run(self._run, status="RUNNING")
        self._client.set_tag(self._run, "failure", f"resumed after: {line['after']}"[:LONGEST_TAG])

    def _failed(self, line: Mapping[str, Any]) -> None:
        self._client.set_tag(self._run, "failure", line["reason"][:LONGEST_TAG])
        self._client.set_terminated(self._run, "FAILED", line["time"])

    def _finished(self, line: Mapping[str, Any]) -> None:
        # Not under their own names: those are curves, and a step would have two values.
        self._metrics([{**line, "step": 0, "values": line["scores"]}], "final.")
        for file in line["artifacts"].values():
            self._client.log_artifact(self._run, str(self._folder / ARTIFACTS / file))
        if {"weights", "card"} <= line["artifacts"].keys():
            self._register(line)
        self._client.set_terminated(self._run, "FINISHED", line["time"])

    def _register(self, line: Mapping[str, Any]) -> None:
        """Make the run's weights a version of the task's model, and its champion if best so far."""
        name = f"idemnet-{self._start['tags']['task']}"
        versions = self._client.search_registered_models(f"name = '{name}'") or [
            self._client.create_registered_model(name)
        ]
        champion = versions[0].aliases.get(CHAMPION)
        best = champion and self._client.get_model_version(name, champion).tags.get(SCORE)
        score = line["scores"].get(SCORE)
        number = self._version(name, line)
        if score is not None and (best is None or score > float(best)):
            self._client.set_registered_model_alias(name, CHAMPION, number)

    def _version(self, name: str, line: Mapping[str, Any]) -> str:
        run = self._run
        found = self._client.search_model_versions(f"name = '{name}' and run_id = '{run}'")
        if found:
            return str(found[0].version)
        with tempfile.TemporaryDirectory() as place:
            weights, card = (
                str(self._folder / ARTIFACTS / line["artifacts"][kind])
                for kind in ("weights", "card")
            )
            _save_model(Path(place) / "model", weights, card)
            self._files(Path(place))
        source = f"{self._client.get_run(run).info.artifact_uri}/model"
        tags = {key: str(value) for key, value in line["scores"].items()}
        version = self._client.create_model_version(name, source, run, tags)
        return str(version.version)

    def _files(self, place: Path, below: str = "") -> None:
        """Copy a folder's files one by one; `log_artifacts` starts threads that delay an exit."""
        for path in sorted(path for path in place.rglob("*") if path.is_file()):
            parent = (Path(below) / path.relative_to(place).parent).as_posix()
            self._client.log_artifact(self._run, str(path), "" if parent == "." else parent)


def _save_model(place: Path, weights: str, card: str) -> None:
    import numpy as np  # noqa: PLC0415
    from mlflow import pyfunc  # noqa: PLC0415
    from mlflow.models import ModelSignature  # noqa: PLC0415
    from mlflow.types import Schema, TensorSpec  # noqa: PLC0415

    images = Schema([TensorSpec(np.dtype(np.uint8), (-1, -1, -1, 3))])
    needed = ("mlflow", "numpy", "safetensors", "torch")
    pyfunc.save_model(
        place,
        python_model=str(Path(__file__).with_name("mlflow_model.py")),
        artifacts={"weights": weights, "card": card},
        pip_requirements=[
            f"idemnet=={__version__}",
            *(f"{package}=={metadata.version(package)}" for package in needed),
        ],
        signature=ModelSignature(images, images),
    )


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


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
