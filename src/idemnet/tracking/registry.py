"""Registered models in MLflow: every training is a version, the best is the champion."""

import logging
import math
import shutil
import warnings
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

CHAMPION = "champion"
SCORE = "validation/selection"
"""Selection score of trainings, which also chooses the champion."""
VALIDATED_ON = ("dataset", "data_fingerprint", "validation_patches")
"""Tags of a version that must be equal for scores to be comparable."""
TAKES = "Takes one image (H, W, 3) or a batch (N, H, W, 3), RGB of 8 bits; returns them restored."

logger = logging.getLogger(__name__)


def add_version(client: Any, run: str, name: str, tags: Mapping[str, str]) -> None:
    """Register the model of a run as a version, unless it is registered."""
    if find_version(client, run, name):
        return
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name)
    source = f"{client.get_run(run).info.artifact_uri}/model"
    client.create_model_version(name, source, run, dict(tags), description=TAKES)


def find_version(client: Any, run: str, name: str) -> str | None:
    """Return the version number of a run."""
    found = client.search_model_versions(f"name = '{name}' and run_id = '{run}'")
    return str(found[0].version) if found else None


def promote(client: Any, run: str, name: str) -> None:
    """Make a run's version the champion if it is better than the current one."""
    number = find_version(client, run, name)
    [model] = client.search_registered_models(f"name = '{name}'")
    champion = model.aliases.get(CHAMPION, number)
    own, best = (client.get_model_version(name, one).tags for one in (number, champion))
    if any(best.get(key) != own.get(key) for key in VALIDATED_ON):
        logger.info(
            "tracking: the %s of %s stays version %s, version %s was validated on other data; "
            "move the alias by hand if you want to",
            CHAMPION, name, champion, number,
        )  # fmt: skip
        return
    score = float(own.get(SCORE, math.nan))
    if score > (float(best.get(SCORE, math.nan)) if CHAMPION in model.aliases else -math.inf):
        client.set_registered_model_alias(name, CHAMPION, number)


def save_model(place: Path, files: Path) -> None:
    """Save weights and card as a self-contained MLflow model.

    Args:
        place: Folder to create.
        files: Folder of weights.safetensors and card.json; the networks' source is copied there,
            because idemnet is not in a package index.
    """
    import numpy as np  # noqa: PLC0415

    # One is about MLflow's own code, the other about an example, which the signature replaces.
    for said in ("Any type hint is inferred as AnyType", "An input example was not provided"):
        warnings.filterwarnings("ignore", f".*{said}", UserWarning)
    from mlflow import pyfunc  # noqa: PLC0415
    from mlflow.models import ModelSignature  # noqa: PLC0415
    from mlflow.types import Schema, TensorSpec  # noqa: PLC0415

    package = Path(__file__).parents[1]
    patterns = ("__init__.py", "errors.py", "models/*.py", "parameters/*.py")
    for file in (file for pattern in patterns for file in package.glob(pattern)):
        target = files / "code" / package.name / file.relative_to(package)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    parts = {"weights": "weights.safetensors", "card": "card.json", "code": "code"}
    # A shape could only allow one image or a batch: the model checks it itself.
    images = Schema([TensorSpec(np.dtype(object), (-1,))])
    needed = ("mlflow", "numpy", "pydantic", "safetensors", "torch")
    pyfunc.save_model(
        place,
        python_model=str(Path(__file__).with_name("model.py")),
        artifacts={kind: str(files / name) for kind, name in parts.items()},
        # Without local version suffix (2.13.0+cpu), which package indexes do not have.
        pip_requirements=[
            f"{package}=={metadata.version(package).partition('+')[0]}" for package in needed
        ],
        signature=ModelSignature(images, images),
    )
