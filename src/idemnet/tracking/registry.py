"""Registered models in MLflow: every training is a version, the best is the champion."""

import logging
import math
import shutil
import warnings
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

CHAMPION = "champion"
SCORE = "validation/selection"
"""Selection score of trainings, which also chooses the champion."""
VALIDATED_ON = ("dataset", "data_fingerprint", "validation_patches")
"""Tags of a version that must be equal for scores to be comparable."""
TAKES = "Takes one image (H, W, 3) or a batch (N, H, W, 3), RGB of 8 bits; returns them restored."


def register(client: Any, run: str, name: str, tags: Mapping[str, str]) -> None:
    """Register a run's model, once, and make it the champion if its tags have the best score."""
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name)
    found = client.search_model_versions(f"name = '{name}' and run_id = '{run}'", max_results=1)
    source = f"{client.get_run(run).info.artifact_uri}/model"
    [version] = found or [
        client.create_model_version(name, source, run, dict(tags), description=TAKES)
    ]
    score, best = float(version.tags.get(SCORE, math.nan)), -math.inf
    if number := client.get_registered_model(name).aliases.get(CHAMPION):
        champion = client.get_model_version(name, number).tags
        best = float(champion.get(SCORE, math.nan))
        if any(champion.get(key) != version.tags.get(key) for key in VALIDATED_ON):
            logger.info(
                "tracking: the %s of %s stays version %s, version %s was validated on other data; "
                "move the alias by hand if you want to",
                CHAMPION, name, number, version.version,
            )  # fmt: skip
            return
    if score > best:
        client.set_registered_model_alias(name, CHAMPION, version.version)


def save_model(place: Path, weights: Path, card: Path) -> None:
    """Save weights and card as a self-contained MLflow model in a new folder.

    The networks' source goes with them, because idemnet is not in a package index.
    """
    import numpy as np  # noqa: PLC0415

    # One is about MLflow's own code, the other about an example, which the signature replaces.
    for said in ("Any type hint is inferred as AnyType", "An input example was not provided"):
        warnings.filterwarnings("ignore", f".*{said}", UserWarning)
    from mlflow import pyfunc  # noqa: PLC0415
    from mlflow.models import ModelSignature  # noqa: PLC0415
    from mlflow.types import Schema, TensorSpec  # noqa: PLC0415

    package, code = Path(__file__).parents[1], place.with_name("code")
    for pattern in ("__init__.py", "errors.py", "models/*.py", "parameters/*.py"):
        for file in package.glob(pattern):
            target = code / file.relative_to(package.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    # A shape could only allow one image or a batch: the model checks it itself.
    images = Schema([TensorSpec(np.dtype(object), (-1,))])
    needed = ("mlflow", "numpy", "pydantic", "safetensors", "torch")
    pyfunc.save_model(
        place,
        python_model=str(Path(__file__).with_name("model.py")),
        artifacts={"weights": str(weights), "card": str(card), "code": str(code)},
        # Without local version suffix (2.13.0+cpu), which package indexes do not have.
        pip_requirements=[
            f"{package}=={metadata.version(package).partition('+')[0]}" for package in needed
        ],
        signature=ModelSignature(images, images),
    )
