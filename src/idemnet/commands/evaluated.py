"""What a project knows of its trained weights beyond their card, for publishing them."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import click
from PIL import Image as PillowImage

from idemnet.evaluation.metrics import summarise
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.steps.data import Evaluation
from idemnet.steps.metrics import Cost, ImageScores, Metrics
from idemnet.storage.atomic import display_path, path_inside
from idemnet.storage.manifest import is_published, parse_manifest, read_manifest

SIDE = 800
"""Pixels of each of the two pictures on the page."""
RENDERED = "depth/"
"""Folder that only the built-in scenes have."""


def add_evaluation(weights: Path, card: dict[str, Any]) -> bytes | None:
    """Add a project's scores, data set and credits to the card; return a before/after picture.

    Only for weights in data/06_models/TASK/DATASET that were evaluated: scores of other weights
    are never added.
    """
    place = weights.absolute().parent
    models = place.parent.parent
    folder = models.parent / "07_model_output" / place.relative_to(models)
    if models.name != "06_models" or not is_published(folder):
        return None
    manifest = read_manifest(folder)
    if manifest.about["card"]["sha256"] != card["sha256"]:
        click.echo(f"{display_path(folder)}: scores of other weights, not published", err=True)
        return None
    stored = json.loads((folder / "scores.json").read_bytes())
    rows = [ImageScores.model_validate(row) for row in stored["rows"]]
    cost = Cost.model_validate(stored["cost"])
    metrics = summarise(Evaluation(manifest.fingerprint, manifest.about, rows, cost, []))
    sources = card.get("sources", ())
    raw = models.parent / "01_raw" / place.relative_to(models)
    card |= {
        "dataset": " + ".join(sources) or metrics.dataset,
        **_credits([raw / name for name in sources] or [raw]),
        "scores": {"test": _scores(metrics)},
    }
    for sample in stored["samples"][:1]:
        files = {Path(name).stem: path_inside(folder, name) for name in sample["files"]}
        return _side_by_side(files["degraded"], files["restored"])
    return None


def _scores(metrics: Metrics) -> dict[str, Any]:
    return {
        "dataset": metrics.dataset,
        "protocol": metrics.protocol,
        "images": metrics.images,
        "psnr_input": metrics.input.psnr,
        "psnr": metrics.restored.psnr,
        "ssim": metrics.restored.similarity,
        "chain": metrics.repeat.chain,
        "detailed_images": metrics.repeat.images,
        "psnr_by_pass": metrics.repeat.psnr,
    }


def _credits(folders: list[Path]) -> dict[str, Any]:
    """Return licence, credit and place on the Hub of raw data, as its download recorded them."""
    manifests = [parse_manifest(folder) for folder in folders if is_published(folder)]
    found: dict[str, list[str]] = {"licence": [], "credit": [], "hub": []}
    for manifest in filter(None, manifests):
        for key in found.keys() & manifest.about.keys():
            found[key].append(str(manifest.about[key]))
        if any(name.startswith(RENDERED) for name in manifest.files):
            found["credit"] += [
                f"photograph '{one.name}': {one.author}, {one.licence}"
                for one in PHOTOGRAPHS
                if one.licence.startswith("CC BY")
            ]
    joined = {key: "; ".join(found[key]) for key in ("licence", "credit")}
    return {key: value for key, value in {**joined, "hub": found["hub"]}.items() if value}


def _side_by_side(*paths: Path) -> bytes:
    """Return a JPEG of pictures of one size, reduced to fit on the page."""
    pictures = []
    for path in paths:
        with PillowImage.open(path) as picture:
            pictures.append(picture.convert("RGB"))
        pictures[-1].thumbnail((SIDE, SIDE))
    width, height = pictures[0].size
    sheet = PillowImage.new("RGB", (len(pictures) * width, height))
    for number, half in enumerate(pictures):
        sheet.paste(half, (number * width, 0))
    buffer = BytesIO()
    sheet.save(buffer, "JPEG", quality=90)
    return buffer.getvalue()
