"""01_raw/inbox: pictures to restore; 07_model_output/restored: the same, restored."""

import hashlib
from pathlib import Path, PurePosixPath

from idemnet.datasets.folder import Folder, PublishedDataset
from idemnet.datasets.raw import image_files
from idemnet.media.find import pictures_below
from idemnet.media.image_files import PHOTO_FORMATS
from idemnet.media.photo import Inbox, Photo
from idemnet.media.preview import ImagePreview, contact_sheet
from idemnet.media.read_photo import PhotoFile
from idemnet.media.write_photo import encode_photo, result_name
from idemnet.steps.plan import Recipe
from idemnet.steps.publish import publish
from idemnet.storage.atomic import display_path, path_inside, write_atomic
from idemnet.storage.checksum import hash_file
from idemnet.storage.manifest import FileEntry, Manifest


class InboxDataset(Folder):
    """Pictures in a folder and its subfolders."""

    def load(self) -> Inbox:
        found = pictures_below(self._folder, also=PHOTO_FORMATS)
        files = {
            path.with_name(result_name(self._folder / path)).as_posix(): self._folder / path
            for path in found
        }
        made_of = "".join(f"{name}\0{hash_file(path)}\n" for name, path in files.items())
        return Inbox(
            hashlib.sha256(made_of.encode()).hexdigest(),
            display_path(self._folder),
            {name: PhotoFile(path) for name, path in files.items()},
        )

    def _exists(self) -> bool:
        return self._folder.is_dir()


class RestoredDataset(PublishedDataset[Manifest]):
    """Output of `restore`: pictures with their original names, formats and metadata."""

    def load(self) -> Manifest:
        return self.read_manifest()

    def save(self, data: Recipe) -> None:
        publish(self._folder, data, _write)

    def preview(self) -> ImagePreview:
        """Show the first picture."""
        return contact_sheet([image() for image in list(image_files(self.load()).values())[:6]])


def _write(folder: Path, name: str, photo: Photo) -> FileEntry:
    content = encode_photo(photo, PurePosixPath(name).suffix)
    return write_atomic(path_inside(folder, name), [content])
