"""07_model_output: scores of each test image, and pictures of some."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idemnet.datasets.folder import PublishedDataset
from idemnet.datasets.raw import image_files
from idemnet.media.image_files import write_image
from idemnet.media.preview import ImagePreview, contact_sheet
from idemnet.steps.data import Evaluation, SampleImages
from idemnet.steps.metrics import Cost, ImageScores
from idemnet.steps.plan import Plan, Recipe
from idemnet.steps.publish import publish
from idemnet.storage.atomic import write_atomic
from idemnet.storage.manifest import FileEntry, Manifest, read_manifest

SCORES = "scores.json"


class EvaluationDataset(PublishedDataset[Evaluation]):
    """Output of `evaluate`: scores.json and sample pictures."""

    def load(self) -> Evaluation:
        return read_evaluation(self._folder, self.read_manifest())

    def save(self, data: Recipe) -> None:
        publish(self._folder, data, _write, _finish)

    def preview(self) -> ImagePreview:
        """Show the samples: degraded, restored, clean."""
        samples = self.load().samples
        kinds = ("degraded", "restored", "clean")
        return contact_sheet([sample.pictures[kind]() for sample in samples for kind in kinds])


@dataclass(frozen=True)
class Evaluations:
    """Evaluations of the studies' cells, each in a folder named by its fingerprint."""

    folder: Path

    def make(self, recipe: Recipe) -> Evaluation:
        """Carry out the recipe, unless its result is already published."""
        place = self.folder / recipe.fingerprint[:16]
        publish(place, recipe, _write, _finish)
        return read_evaluation(place, read_manifest(place))


def read_evaluation(folder: Path, manifest: Manifest) -> Evaluation:
    """Read a published evaluation."""
    images = image_files(manifest)
    scores = json.loads((folder / SCORES).read_bytes())
    samples = [
        SampleImages(
            sample["name"],
            sample["level"],
            {Path(file).stem: images[file] for file in sample["files"]},
        )
        for sample in scores["samples"]
    ]
    rows = [ImageScores.model_validate(row) for row in scores["rows"]]
    cost = Cost.model_validate(scores["cost"])
    return Evaluation(manifest.fingerprint, manifest.about, rows, cost, samples)


def _write(folder: Path, name: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write sample pictures; scores are small and stay in the journal."""
    if not name.startswith("sample "):
        return content
    place = name.replace(" ", "_")
    return {
        f"{place}/{kind}.png": write_image(folder, f"{place}/{kind}.png", picture)
        for kind, picture in content.items()
    }


def _finish(folder: Path, items: Mapping[str, Any], plan: Plan) -> Mapping[str, FileEntry]:
    """Write the scores as one file, in the order of the images."""
    pictures = [files for name, files in items.items() if name.startswith("sample ")]
    scores = {
        "cost": items["cost"],
        "rows": [row for name, row in items.items() if name.startswith("image ")],
        "samples": [
            {**sample, "files": list(files)}
            for sample, files in zip(plan.about["samples"], pictures, strict=True)
        ],
    }
    entries = {name: entry for files in pictures for name, entry in files.items()}
    written = write_atomic(folder / SCORES, [json.dumps(scores, indent=1).encode()])
    return {SCORES: written, **entries}
