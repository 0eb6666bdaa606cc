"""Base classes of the datasets: one published folder per task and data set."""

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from kedro.io import AbstractDataset, DatasetError

from idemnet.media.image_files import write_image
from idemnet.steps.mix import Mix, Part
from idemnet.steps.plan import Recipe
from idemnet.steps.publish import publish, publish_mix
from idemnet.storage.manifest import MANIFEST, Manifest, is_published, parse_manifest, read_manifest
from idemnet.system.locks import LockMode

Handle = TypeVar("Handle")


class Folder(AbstractDataset[Any, Any]):
    """A folder dataset that cannot be saved, unless a subclass implements it."""

    lock_as_input: ClassVar[LockMode | None] = None
    """How a run locks this folder as an input; outputs are always locked exclusively."""

    writes: tuple[Path, ...] = ()
    """Further folders that saving writes to."""

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def task(self) -> str:
        """Return the task of a folder data/LAYER/TASK/DATASET."""
        return self._folder.parent.name

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
        raise DatasetError(f"{self._folder}: cannot be saved as a whole")

    def read_manifest(self) -> Manifest:
        """Read the manifest, after checking the files it lists."""
        return read_manifest(self._folder, self._made_by)

    def size(self) -> int:
        """Return the bytes of its files, including those that it uses in place."""
        lists = [*self._folder.glob(MANIFEST), *self._folder.glob(f"*/{MANIFEST}")]
        if not lists:
            return sum(path.stat().st_size for path in self._folder.glob("[!.]*"))
        found = [parse_manifest(path.parent) for path in lists]
        return sum(size for one in found if one for size, _ in one.files.values())

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._folder)}  # kedro-viz shows it


class PublishedDataset(Folder, Generic[Handle]):
    """A folder that a step publishes atomically: saves a recipe, loads a handle."""

    lock_as_input = LockMode.SHARED  # read until the run ends, so it must not be replaced meanwhile

    @abstractmethod
    def load(self) -> Handle: ...

    def save(self, data: Recipe) -> None:
        publish(self._folder, data, write_image)

    def _exists(self) -> bool:
        return is_published(self._folder)


class PreparedDataset(PublishedDataset[Handle]):
    """Data of one source, or of each source of a mix in a folder of its own."""

    def save(self, data: Recipe | Mix[Recipe]) -> None:
        if isinstance(data, Mix):
            publish_mix(self._folder, data, self.publish)
        else:
            self.publish(self._folder, data)

    def publish(self, folder: Path, recipe: Recipe) -> None:
        """Publish one result; images, unless a dataset says otherwise."""
        publish(folder, recipe, write_image)

    def load(self) -> Handle:
        manifest = self.read_manifest()
        if "mix" not in manifest.about:
            return self.read(self._folder, manifest)
        parts = {
            name: Part(self.read(place, read_manifest(place, self._made_by)), **about)
            for name, about in manifest.about["mix"].items()
            for place in [self._folder / name]
        }
        return self.join(manifest, Mix(manifest.about["dataset"], parts))

    @abstractmethod
    def read(self, folder: Path, manifest: Manifest) -> Handle:
        """Read what was published from one source."""

    @abstractmethod
    def join(self, manifest: Manifest, mix: Mix[Handle]) -> Handle:
        """Join what was published from several; sequences are then named SOURCE/SEQUENCE."""
