"""08_reporting/studies: results, tables and figures of studies, and a page for each data set."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from idemnet.datasets.evaluation import Evaluations
from idemnet.datasets.folder import Folder
from idemnet.datasets.report import list_files, write_files
from idemnet.datasets.tracking import open_stores
from idemnet.errors import BadInputError
from idemnet.media.preview import HTMLPreview, show_picture
from idemnet.steps.publish import publish
from idemnet.steps.services import Measurement, StudyStores
from idemnet.steps.study import STORED, StudyResults
from idemnet.storage.atomic import display_path
from idemnet.storage.manifest import is_published
from idemnet.tracking.tracker import Tracker

RESULTS = "results.json"


class StudyDataset(Folder):
    """Output of a study: results.json, tables, a figure."""

    def __init__(
        self,
        filepath: str,
        *,
        checkpoints: Mapping[str, str],
        evaluations: Mapping[str, str],
        runs: Mapping[str, str],
        metadata: dict[str, Any] | None = None,
        made_by: str = "",
    ) -> None:
        """Name the folder, and where the cells of all studies are kept.

        Args:
            filepath: The folder of the study.
            checkpoints: Folder of the trainings' checkpoints.
            evaluations: Folder of the evaluations.
            runs: MLflow's database; each study is a run with its cells as child runs.
            metadata: For kedro-viz.
            made_by: The command that makes it, for errors.
        """
        super().__init__(filepath, metadata, made_by)
        trainings, tracker = open_stores(checkpoints, runs)
        recorder = Tracker(tracker.store, "studies", "cells")
        self._stores = StudyStores(
            trainings, tracker, Evaluations(Path(evaluations["filepath"])), recorder
        )
        self.writes = (trainings.folder,)

    def load(self) -> StudyResults:
        self.read_manifest()
        return _read(self._folder)

    def save(self, data: Measurement) -> None:
        publish(self._folder, data.run(self._stores), write_files, list_files)

    def preview(self) -> HTMLPreview:
        """Show the table and the figure."""
        table = (self._folder / "table.md").read_text(encoding="utf-8")
        picture = show_picture((self._folder / "figure.svg").read_bytes(), "svg+xml")
        return HTMLPreview(re.sub(r"!\[.*\]\(figure\.svg\)", picture, table))

    def _exists(self) -> bool:
        return is_published(self._folder)


class StudiesDataset(Folder):
    """Every study that was run, by name."""

    def load(self) -> Mapping[str, StudyResults]:
        return {
            place.parent.name: _read(place.parent)
            for place in sorted(self._folder.glob(f"[!.]*/{RESULTS}"))
        }


def _read(folder: Path) -> StudyResults:
    try:
        return STORED.validate_json((folder / RESULTS).read_bytes())
    except ValueError:
        raise BadInputError(f"{display_path(folder / RESULTS)}: not valid study results") from None
