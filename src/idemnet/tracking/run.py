"""What one MLflow run is told, line by line of its journal; telling it twice changes nothing."""

import json
import logging
import math
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from PIL import Image as PillowImage

from idemnet.tracking.journal import ARTIFACTS, IMAGES, INTERRUPTED

METRICS_AT_ONCE = 500
PARAMETERS_AT_ONCE = 100
LONGEST_PARAMETER = 6000
LONGEST_TAG = 8000
CHAMPION = "champion"
SCORE = "validation/selection"
"""By which training selects weights, and so the champion is chosen."""
VALIDATED_ON = ("dataset", "data_fingerprint", "validation_patches")
"""Tags of a model's version; scores of versions that differ in one of them do not compare."""
DIGEST = 16
"""Characters of a fingerprint, of which MLflow takes 36; folders of trainings have as many."""
TAKES = "Takes one image (H, W, 3) or a batch (N, H, W, 3), RGB of 8 bits; returns them restored."
SOURCE = ("mlflow.user", "mlflow.source.name", "mlflow.source.type", "mlflow.source.git.commit")
"""Tags by which MLflow says who ran what."""

logger = logging.getLogger(__name__)


class RunCopy:
    """Tells one MLflow run what lines say."""

    def __init__(self, client: Any, run: str, folder: Path, start: Mapping[str, Any]) -> None:
        self._client, self._run, self._folder, self._start = client, run, folder, start

    def __call__(self, batch: Sequence[Mapping[str, Any]]) -> None:
        match batch[0]["kind"]:
            case "metrics":
                self._metrics(batch)
            case "started":
                self._started(batch[0])
            case "tags":
                self._tags(batch[0])
            case "image":
                self._image(batch[0])
            case "failed":
                self._failed(batch[0])
            case "resumed":
                self._resumed(batch[0])
            case "finished":
                self._finished(batch[0])
            case "evaluated":
                self._evaluated(batch[0])

    def _started(self, line: Mapping[str, Any]) -> None:
        from mlflow.entities import Param  # noqa: PLC0415

        parameters = [
            Param(key, (value if isinstance(value, str) else json.dumps(value))[:LONGEST_PARAMETER])
            for key, value in line["parameters"].items()
        ]
        self._tags(line)
        for some in _chunks(parameters, PARAMETERS_AT_ONCE):
            self._client.log_batch(self._run, params=some)
        if "data_fingerprint" in line["tags"]:
            self._client.log_inputs(self._run, datasets=[_dataset(line["tags"])])

    def _tags(self, line: Mapping[str, Any]) -> None:
        from mlflow.entities import RunTag  # noqa: PLC0415

        tags = [RunTag(key, str(value)[:LONGEST_TAG]) for key, value in line["tags"].items()]
        self._client.log_batch(self._run, tags=tags)

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
        status = "KILLED" if line["reason"] == INTERRUPTED else "FAILED"
        self._client.set_terminated(self._run, status, line["time"])

    def _finished(self, line: Mapping[str, Any]) -> None:
        # Not under their own names: those are curves, and a step would have two values.
        scores = with_slashes(line["scores"])
        self._metrics([{**line, "step": 0, "values": scores}], "final/")
        for file in line["artifacts"].values():
            self._client.log_artifact(self._run, str(self._folder / ARTIFACTS / file))
        if {"weights", "card"} <= line["artifacts"].keys() and "task" in self._start["tags"]:
            self._register(line)
        self._client.set_terminated(self._run, "FINISHED", line["time"])

    def _evaluated(self, line: Mapping[str, Any]) -> None:
        from mlflow.entities import Metric  # noqa: PLC0415

        metrics = [
            Metric(name, value, line["time"], step)
            for name, step, value in curves(line["metrics"], "test")
        ]
        for some in _chunks(metrics, METRICS_AT_ONCE):
            self._client.log_batch(self._run, metrics=some)
        self._client.set_tag(self._run, "protocol", line["metrics"]["protocol"])
        for file in line["artifacts"]:
            below = (Path("report") / file).parent.as_posix()
            self._client.log_artifact(self._run, str(self._folder / ARTIFACTS / file), below)

    def _register(self, line: Mapping[str, Any]) -> None:
        """Make the run's weights a version of the task's model, and its champion if best so far."""
        name = f"idemnet-{self._start['tags']['task']}"
        [model] = self._client.search_registered_models(f"name = '{name}'") or [
            self._client.create_registered_model(name)
        ]
        number = self._version(name, line)
        own, best = self._standing(line), -math.inf
        if CHAMPION in model.aliases:
            champion = self._client.get_model_version(name, model.aliases[CHAMPION])
            if any(champion.tags.get(key) != own[key] for key in VALIDATED_ON):
                logger.info(
                    "tracking: the %s of %s stays version %s, version %s was validated on other "
                    "data; move the alias by hand if you want to",
                    CHAMPION, name, champion.version, number,
                )  # fmt: skip
                return
            best = float(champion.tags.get(SCORE, math.nan))
        if float(own.get(SCORE, math.nan)) > best:
            self._client.set_registered_model_alias(name, CHAMPION, number)

    def _standing(self, line: Mapping[str, Any]) -> dict[str, str]:
        """Return a version's tags: its scores, and what they were measured on."""
        tags, parameters = self._start["tags"], self._start["parameters"]
        told = (
            tags.get("dataset"),
            tags.get("data_fingerprint"),
            parameters.get("train.validation_patches"),
        )
        scores = with_slashes(line["scores"]) | dict(zip(VALIDATED_ON, told, strict=True))
        return {key: str(value) for key, value in scores.items()}

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
        version = self._client.create_model_version(
            name, source, run, self._standing(line), description=TAKES
        )
        return str(version.version)

    def _files(self, place: Path, below: str = "") -> None:
        """Copy a folder's files one by one; `log_artifacts` starts threads that delay an exit."""
        for path in sorted(path for path in place.rglob("*") if path.is_file()):
            parent = (Path(below) / path.relative_to(place).parent).as_posix()
            self._client.log_artifact(self._run, str(path), "" if parent == "." else parent)


def curves(figures: Any, name: str, step: int = 0) -> Iterator[tuple[str, int, float]]:
    """Return every number with its name and step.

    What differs by a number only (pass, iteration, level, sigma) becomes one curve over it, since
    MLflow draws curves and compares runs by them; everything else becomes part of the name.
    """
    if isinstance(figures, Mapping):
        for key, value in figures.items():
            if key.isdigit():
                yield from curves(value, name, int(key))
            else:
                yield from curves(value, f"{name}/{key}", step)
    elif isinstance(figures, Sequence) and not isinstance(figures, str):
        for number, value in enumerate(figures, 1):
            yield from curves(value, name, number)
    elif not isinstance(figures, str):
        yield name, step, float(figures)


def _save_model(place: Path, weights: str, card: str) -> None:
    import numpy as np  # noqa: PLC0415

    # One is of MLflow's own code, the other asks for an example, which the signature replaces.
    for said in ("Any type hint is inferred as AnyType", "An input example was not provided"):
        warnings.filterwarnings("ignore", f".*{said}", UserWarning)
    from mlflow import pyfunc  # noqa: PLC0415
    from mlflow.models import ModelSignature  # noqa: PLC0415
    from mlflow.types import Schema, TensorSpec  # noqa: PLC0415

    # A shape would have to be that of one image or that of a batch: the model checks it itself.
    images = Schema([TensorSpec(np.dtype(object), (-1,))])
    needed = ("mlflow", "numpy", "safetensors", "torch")
    with tempfile.TemporaryDirectory() as folder:
        pyfunc.save_model(
            place,
            python_model=str(Path(__file__).with_name("model.py")),
            artifacts={"weights": weights, "card": card, "code": str(_copy_networks(Path(folder)))},
            # Without a local suffix (2.13.0+cpu), which package indexes do not have.
            pip_requirements=[
                f"{package}=={metadata.version(package).partition('+')[0]}" for package in needed
            ],
            signature=ModelSignature(images, images),
        )


def _copy_networks(folder: Path) -> Path:
    """Copy what building a network takes: idemnet is in no package index to be installed from."""
    package = Path(__file__).parents[1]
    for file in (package / "__init__.py", package / "errors.py", *package.glob("models/*.py")):
        target = folder / "code" / package.name / file.relative_to(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return folder / "code"


def with_slashes(scores: Mapping[str, float]) -> dict[str, float]:
    """Return scores under today's names: older journals and runs have dots in them."""
    return {name.replace(".", "/"): value for name, value in scores.items()}


def _dataset(tags: Mapping[str, str]) -> Any:
    """Return a training's data as an input of its run: made by code, told apart by fingerprint."""
    from mlflow.entities import Dataset, DatasetInput, InputTag  # noqa: PLC0415

    source = json.dumps({"tags": {key: tags[key] for key in SOURCE if key in tags}})
    name, digest = tags.get("dataset", "unnamed"), tags["data_fingerprint"][:DIGEST]
    context = InputTag("mlflow.data.context", "training")
    return DatasetInput(Dataset(name, digest, "code", source), [context])


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
