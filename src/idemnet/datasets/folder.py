"""What every dataset of this project has in common: one published folder per task and data set."""

import fcntl
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from kedro.io import AbstractDataset, DatasetError

from idemnet.errors import BadInputError
from idemnet.media.image_files import write_image
from idemnet.steps.plan import Recipe
from idemnet.steps.publish import publish
from idemnet.storage.atomic import leads_out
from idemnet.storage.manifest import Manifest, is_published, read_manifest

Handle = TypeVar("Handle")
BUILT_IN = "builtin"
"""Data set of a task for which no other is named."""


class Folder(AbstractDataset[Any, Any]):
    """A folder that nobody saves to as a whole, unless a dataset says how."""

    lock_as_input: ClassVar[int | None] = None
    """How a run locks the folder that it takes as an input; its outputs it always owns."""

    @property
    def folder(self) -> Path:
        return self._folder

    def __init__(
        self, filepath: str, metadata: dict[str, Any] | None = None, made_by: str = ""
    ) -> None:
        """Name the folder.

        Args:
            filepath: The folder.
            metadata: For kedro-viz.
            made_by: The command that makes it, for errors.
        """
        self._folder = Path(filepath)
        self.metadata = metadata
        self._made_by = made_by

    def save(self, data: Any) -> None:
        raise DatasetError(f"{self._folder}: is not saved as a whole")

    def read_manifest(self) -> Manifest:
        """Read the manifest of what was published, undamaged."""
        return read_manifest(self._folder, self._made_by)

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}


class DatasetFolder(Folder):
    """A folder below a task's folder, named by the data set that the task works on."""

    def __init__(
        self,
        filepath: str,
        dataset: Mapping[str, str],
        metadata: dict[str, Any] | None = None,
        made_by: str = "",
    ) -> None:
        """Name the folder.

        Args:
            filepath: The task's folder; each of its data sets is a folder below.
            dataset: Which data set each task uses (conf/*/globals.yml).
            metadata: For kedro-viz.
            made_by: The command that makes it, for errors.
        """
        super().__init__(str(dataset_folder(filepath, dataset)), metadata, made_by)


def dataset_folder(filepath: str, dataset: Mapping[str, str]) -> Path:
    """Return the folder of a task's data set.

    Raises:
        BadInputError: If the data set's name leads out of the task's folder.
    """
    folder = Path(filepath)
    name = dataset.get(folder.name, BUILT_IN)
    if leads_out(name) or not name.strip("./"):
        raise BadInputError(f"dataset.{folder.name} = {name!r}: leads out of {folder}")
    return folder / name


class PublishedDataset(DatasetFolder, Generic[Handle]):
    """A folder that a step publishes whole: saving takes a recipe, loading gives a handle."""

    lock_as_input = fcntl.LOCK_SH  # read until the run ends: nobody may replace it meanwhile

    @abstractmethod
    def load(self) -> Handle: ...

    def save(self, data: Recipe) -> None:
        publish(self._folder, data, write_image)

    def _exists(self) -> bool:
        return is_published(self._folder)
