"""08_reporting/studies: results, tables and figures of studies, and a page for each data set."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from idemnet.datasets.folder import Folder
from idemnet.datasets.report import list_files, write_files
from idemnet.errors import BadInputError
from idemnet.steps.plan import Recipe
from idemnet.steps.publish import publish
from idemnet.steps.study import STORED, StudyResults
from idemnet.storage.atomic import display_path, write_atomic
from idemnet.storage.manifest import is_published

RESULTS = "results.json"


class StudyDataset(Folder):
    """Output of a study: results.json, tables, a figure."""

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
        self._path.parent.mkdir(parents=True, exist_ok=True)  # the first study is still to come
        write_atomic(self._path, [data.encode()])

    def _exists(self) -> bool:
        return self._path.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"path": str(self._path)}


def _read(folder: Path) -> StudyResults:
    try:
        return STORED.validate_json((folder / RESULTS).read_bytes())
    except ValueError:
        raise BadInputError(f"{display_path(folder / RESULTS)}: not valid study results") from None
