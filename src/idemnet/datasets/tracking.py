"""06_models/runs: the journals of trainings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from kedro.io import AbstractDataset

from idemnet.datasets.folder import dataset_folder
from idemnet.errors import BadInputError
from idemnet.tracking.tracker import Tracker
from idemnet.tracking.uri import without_secrets


class TrackerDataset(AbstractDataset[NoReturn, Tracker]):
    """Where the training runs of a task are recorded."""

    def __init__(
        self,
        filepath: str,
        dataset: Mapping[str, str],
        uri: str = "",
        experiment: str = "idemnet",
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Name the folder and the store.

        Args:
            filepath: The task's folder; each of its data sets is a folder below.
            dataset: Which data set each task uses (conf/*/globals.yml).
            uri: MLflow's tracking URI; empty for `mlflow.db` at the project's root.
                MLFLOW_TRACKING_URI wins.
            experiment: MLflow's experiment.
            metadata: For kedro-viz.
        """
        folder = dataset_folder(filepath, dataset)
        task = Path(filepath).name
        self._tracker = Tracker(folder, task, folder.name, uri, experiment)
        self.metadata = metadata

    def load(self) -> Tracker:
        return self._tracker

    def save(self, data: NoReturn) -> NoReturn:
        raise BadInputError("runs are recorded while they run, there is nothing to save")

    def _exists(self) -> bool:
        return self._tracker.folder.exists()

    def _describe(self) -> dict[str, Any]:
        tracker = self._tracker
        return {
            "folder": str(tracker.folder),
            "uri": without_secrets(tracker.uri),
            "experiment": tracker.experiment,
        }
