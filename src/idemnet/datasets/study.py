"""08_reporting/studies: what studies measured, their tables and figures, and a page of them all."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from idemnet.datasets.folder import Folder
from idemnet.datasets.report import list_files, write_files
from idemnet.errors import BadInputError
from idemnet.steps.plan import Recipe
from idemnet.steps.publish import publish
from idemnet.steps.study import Outcome, StudyResults
from idemnet.storage.atomic import shown, write_atomic
from idemnet.storage.manifest import is_published

RESULTS = "results.json"


class StudyDataset(Folder):
    """What a study publishes: results.json, tables, a figure."""

    def load(self) -> StudyResults:
        self.read_manifest()
        return _read(self._folder)

    def save(self, data: Recipe) -> None:
        publish(self._folder, data, write_files, list_files)

    def _exists(self) -> bool:
        return is_published(self._folder)


class StudiesDataset(Folder):
    """Every study that was run, by name."""

    def load(self) -> Mapping[str, StudyResults]:
        return {
            place.parent.name: _read(place.parent)
            for place in sorted(self._folder.glob(f"[!.]*/{RESULTS}"))
        }


class PageDataset(AbstractDataset[str, str]):
    """One self-contained page."""

    def __init__(self, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._path = Path(filepath)
        self.metadata = metadata

    def load(self) -> str:
        return self._path.read_text(encoding="utf-8")

    def save(self, data: str) -> None:
        write_atomic(self._path, [data.encode()])

    def _exists(self) -> bool:
        return self._path.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"path": str(self._path)}


def _read(folder: Path) -> StudyResults:
    try:
        stored = json.loads((folder / RESULTS).read_bytes())
        return StudyResults(
            stored["name"],
            stored["task"],
            stored["dataset"],
            [Outcome(**outcome) for outcome in stored["outcomes"]],
        )
    except (ValueError, KeyError, TypeError):
        raise BadInputError(f"{shown(folder / RESULTS)}: is not what a study has written") from None
