"""Pictures that somebody names on the command line."""

from pathlib import Path

from idemnet.datasets.images import ImageFile, is_image
from idemnet.errors import BadInputError


def find_pictures(path: Path) -> list[tuple[str, ImageFile]]:
    """Find a file, or all images below a folder, each with its path without suffix.

    Raises:
        BadInputError: If there is none.
    """
    if path.is_file():
        return [(path.stem, _picture(path))]
    below = sorted(file.relative_to(path) for file in path.rglob("*"))
    found = [
        (file.with_suffix("").as_posix(), _picture(path / file))
        for file in below
        if is_image(file)
        and not any(part.startswith(".") for part in file.parts)
        and (path / file).is_file()
    ]
    if not found:
        raise BadInputError(f"{path}: holds no images")
    return found


def _picture(path: Path) -> ImageFile:
    return ImageFile(path, str(path), path.stat().st_size, sha256=None)
