"""mlflow.db: the record of every training."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset

from idemnet.errors import BadInputError
from idemnet.tracking.tracker import Tracker


class TrackerDataset(AbstractDataset[NoReturn, Tracker]):
    """MLflow store with the trainings of a task."""

    def __init__(
        self, filepath: str, task: str, dataset: str, metadata: dict[str, Any] | None = None
    ) -> None:
        """Name the store.

        Args:
            filepath: MLflow's database; run files are in mlruns/ next to it.
            task: Task of the runs; each task has its own experiment.
            dataset: Data set of the runs.
            metadata: For kedro-viz.
        """
        self._tracker = Tracker(Path(filepath), task, dataset)
        self.metadata = metadata

    def load(self) -> Tracker:
        return self._tracker

    def save(self, data: NoReturn) -> NoReturn:
        raise BadInputError("runs are recorded while they run, there is nothing to save")

    def _exists(self) -> bool:
        return self._tracker.store.exists()

    def _describe(self) -> dict[str, Any]:
        return {key: str(value) for key, value in asdict(self._tracker).items()}
