"""mlflow.db: scores of earlier trainings, as data of a step."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError

from idemnet.inference.weights import CARD
from idemnet.steps.data import OtherRuns
from idemnet.tracking.checkpoints import Checkpoints
from idemnet.tracking.tracker import Tracker


class OtherRunsDataset(AbstractDataset[NoReturn, OtherRuns]):
    """Latest scores of every training on a data set, except that of the weights."""

    def __init__(
        self, filepath: str, weights: Mapping[str, str], metadata: dict[str, Any] | None = None
    ) -> None:
        """Name the store and the weights.

        Args:
            filepath: MLflow's database; run files are in mlruns/ next to it.
            weights: Folder of the weights, data/LAYER/TASK/DATASET.
            metadata: For kedro-viz.
        """
        self._card = Path(weights["filepath"], CARD)
        self._tracker = open_tracker(filepath, self._card.parent)
        self.metadata = metadata

    def load(self) -> OtherRuns:
        own = json.loads(self._card.read_bytes())["fingerprint"]
        return OtherRuns(self._tracker.evaluations(except_for=own))

    def save(self, data: NoReturn) -> NoReturn:
        raise DatasetError("runs are recorded while they run, there is nothing to save")

    def _exists(self) -> bool:
        return self._tracker.store.exists()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._tracker.store)}


def open_tracker(store: str, folder: Path) -> Tracker:
    """Return the runs of the trainings on a folder's data, data/LAYER/TASK/DATASET."""
    return Tracker(Path(store), folder.parent.name, folder.name)


def open_stores(
    checkpoints: Mapping[str, str], runs: Mapping[str, str]
) -> tuple[Checkpoints, Tracker]:
    """Return where trainings keep their checkpoints, and record their runs."""
    folder = Path(checkpoints["filepath"])
    return Checkpoints(folder), open_tracker(runs["filepath"], folder)
