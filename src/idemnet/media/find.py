"""Find the pictures named on the command line."""

from collections.abc import Collection
from pathlib import Path

from idemnet.errors import BadInputError
from idemnet.media.image_files import ImageFile, is_image


def find_pictures(path: Path) -> list[tuple[str, ImageFile]]:
    """Find a file, or all images below a folder, each with its path without suffix.

    Raises:
        BadInputError: If there is none.
    """
    if path.is_file():
        return [(path.stem, _picture(path))]
    found = [
        (file.with_suffix("").as_posix(), _picture(path / file)) for file in pictures_below(path)
    ]
    if not found:
        raise BadInputError(f"{path}: contains no images")
    return found


def pictures_below(folder: Path, *, also: Collection[str] = ()) -> list[Path]:
    """Return the paths of all pictures below a folder, sorted, except hidden ones.

    Args:
        folder: Folder to search.
        also: Further suffixes to include.
    """
    below = sorted(file.relative_to(folder) for file in folder.rglob("*"))
    return [
        file
        for file in below
        if (is_image(file) or file.suffix.lower() in also)
        and not any(part.startswith(".") for part in file.parts)
        and (folder / file).is_file()
    ]


def _picture(path: Path) -> ImageFile:
    return ImageFile(path, str(path), path.stat().st_size, sha256=None)
