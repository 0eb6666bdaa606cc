"""What every dataset of this project has in common: one published folder per task and data set."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from kedro.io import AbstractDataset

from idemnet.datasets.images import write_image
from idemnet.datasets.published import (
    publish,
    published_fingerprint,
)
from idemnet.recipes import Recipe

Handle = TypeVar("Handle")


class DatasetFolder(AbstractDataset[Any, Any]):
    """A folder below a task's folder, named by the data set that the task works on."""

    def __init__(
        self, filepath: str, dataset: Mapping[str, str], metadata: dict[str, Any] | None = None
    ) -> None:
        """Name the folder.

        Args:
            filepath: The task's folder; each of its data sets is a folder below.
            dataset: Which data set each task uses (conf/*/globals.yml).
            metadata: For kedro-viz.
        """
        self._folder = Path(filepath) / dataset[Path(filepath).name]
        self.metadata = metadata

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}


class PublishedDataset(DatasetFolder, Generic[Handle]):
    """A folder that a step publishes whole: saving takes a recipe, loading gives a handle."""

    @abstractmethod
    def load(self) -> Handle: ...

    def save(self, data: Recipe) -> None:
        publish(self._folder, data, write_image)

    def _exists(self) -> bool:
        return published_fingerprint(self._folder) is not None
