"""01_raw/inbox: pictures to restore; 07_model_output/restored: the same, restored."""

import hashlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from kedro.io import AbstractDataset, DatasetError

from idemnet.datasets.files import place_inside, shown, write_whole
from idemnet.datasets.folder import PublishedDataset
from idemnet.datasets.images import ImageFile, is_image
from idemnet.datasets.photo import decode_photo, encode_photo
from idemnet.datasets.preview import ImagePreview, contact_sheet
from idemnet.datasets.published import FileEntry, Manifest, publish, read_manifest
from idemnet.datasets.raw import image_files
from idemnet.recipes import Inbox, Photo, Recipe


@dataclass(frozen=True)
class PhotoFile:
    """A picture on disk; called, it is decoded with all that must not be lost."""

    path: Path

    def __call__(self) -> Photo:
        return decode_photo(self.path.read_bytes(), str(self.path))


class InboxDataset(AbstractDataset[NoReturn, Inbox]):
    """Pictures that somebody has put into a folder, or below it."""

    def __init__(self, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._folder = Path(filepath)
        self.metadata = metadata

    def load(self) -> Inbox:
        files = {
            path.relative_to(self._folder).as_posix(): path
            for path in sorted(self._folder.rglob("*"))
            if is_image(path) and path.is_file()
        }
        digest = hashlib.sha256()
        for name, path in files.items():
            digest.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
        pictures = {name: PhotoFile(path) for name, path in files.items()}
        return Inbox(digest.hexdigest(), shown(self._folder), pictures)

    def save(self, data: NoReturn) -> NoReturn:
        raise DatasetError("pictures come into the inbox from outside")

    def _exists(self) -> bool:
        return self._folder.is_dir()

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}

    def preview(self) -> ImagePreview:
        """Show the first of them."""
        chosen = list(self.load().pictures)[:6]
        files = [self._folder / name for name in chosen]
        return contact_sheet([_small(file) for file in files])


def _small(path: Path) -> Any:
    return ImageFile(path, str(path), path.stat().st_size, None)()


class RestoredDataset(PublishedDataset[Manifest]):
    """What `restore` publishes: pictures with the names, formats and metadata they came with."""

    def load(self) -> Manifest:
        return read_manifest(self._folder)

    def save(self, data: Recipe) -> None:
        publish(self._folder, data, _write)

    def preview(self) -> ImagePreview:
        """Show the first of them."""
        return contact_sheet([image() for image in list(image_files(self.load()).values())[:6]])


def _write(folder: Path, name: str, photo: Photo) -> FileEntry:
    content = encode_photo(photo, PurePosixPath(name).suffix)
    return write_whole(place_inside(folder, name), [content])
