"""Pictures and videos that somebody names, and what each becomes: `idemnet restore`."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from idemnet.datasets.images import FORMATS
from idemnet.datasets.pictures import pictures_below
from idemnet.errors import BadInputError

VIDEOS = (".mp4", ".mov", ".mkv", ".webm")


@dataclass(frozen=True)
class Errand:
    """A picture or video to restore, and the file that it becomes."""

    source: Path
    target: Path

    @property
    def is_video(self) -> bool:
        return self.source.suffix.lower() in VIDEOS


def plan_errands(inputs: Sequence[str], output: Path | None) -> list[Errand]:
    """Find the pictures and videos that somebody names, and say what each becomes.

    A file becomes NAME_restored beside it, a folder NAME_restored with the same files below. With
    `output`, everything goes into that folder; a single file may be given the name of a file.

    Raises:
        BadInputError: If a name finds nothing, or two of them would become the same file.
    """
    places = [place for name in inputs for place in _expand(name)]
    errands: list[Errand] = []
    for place in places:
        errands += (
            _of_folder(place, output, alone=len(places) == 1)
            if place.is_dir()
            else [_of_file(place, output, alone=len(places) == 1)]
        )
    targets: dict[Path, Errand] = {}
    for errand in errands:
        other = targets.setdefault(errand.target.resolve(), errand)
        if other.source.resolve() != errand.source.resolve():
            raise BadInputError(
                f"{errand.source} and {other.source} would both become {errand.target}"
            )
    sources = {errand.source.resolve() for errand in errands}
    for target, errand in targets.items():
        if target in sources:
            raise BadInputError(f"{errand.target}: is an input, which is never overwritten")
    return list(targets.values())


def _expand(name: str) -> list[Path]:
    path = Path(name).expanduser()
    if path.exists():
        return [path]
    found = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - it may be absolute
    if not found:
        raise BadInputError(f"{name}: is not there")
    return [Path(one) for one in found]


def _of_file(path: Path, output: Path | None, *, alone: bool) -> Errand:
    if path.suffix.lower() not in (*FORMATS, *VIDEOS):
        known = ", ".join(sorted((*FORMATS, *VIDEOS)))
        raise BadInputError(f"{path}: '{path.suffix}' is none of {known}")
    if output is None:
        return Errand(path, path.with_name(f"{path.stem}_restored{path.suffix}"))
    kinds = VIDEOS if path.suffix.lower() in VIDEOS else tuple(FORMATS)
    if alone and output.suffix.lower() in kinds and not output.is_dir():
        return Errand(path, output)
    return Errand(path, output / path.name)


def _of_folder(folder: Path, output: Path | None, *, alone: bool) -> list[Errand]:
    root = folder.with_name(f"{folder.resolve().name}_restored")
    if output is not None:
        root = output if alone else output / folder.resolve().name
    inside = root.resolve()
    found = [
        Errand(folder / path, root / path)
        for path in pictures_below(folder, also=VIDEOS)
        if not (folder / path).resolve().is_relative_to(inside)
    ]
    if not found:
        raise BadInputError(f"{folder}: holds no pictures and no videos")
    return found
