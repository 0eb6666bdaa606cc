"""Pictures from files to files: `idemnet restore`."""

import glob
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from idemnet.datasets.files import write_whole
from idemnet.datasets.images import FORMATS
from idemnet.datasets.photo import PhotoFile, encode_photo
from idemnet.datasets.pictures import pictures_below
from idemnet.errors import BadInputError
from idemnet.recipes import Photo

AHEAD = 2
"""Pictures that are read, and written, while another one is restored."""

RestorePixels = Callable[[NDArray[np.float32]], NDArray[np.float32]]


@dataclass(frozen=True)
class Errand:
    """A picture to restore, and the file that it becomes."""

    source: Path
    target: Path


@dataclass(frozen=True)
class Done:
    """How an errand ended."""

    errand: Errand
    failure: str = ""


def plan_errands(inputs: Sequence[str], output: Path | None) -> list[Errand]:
    """Find the pictures that somebody names, and say what each becomes.

    A file becomes NAME_restored beside it, a folder NAME_restored with the same files below. With
    `output`, everything goes into that folder; a single file may be given the name of a file.

    Raises:
        BadInputError: If a name finds nothing, or two pictures would become the same file.
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
    if path.suffix.lower() not in FORMATS:
        raise BadInputError(f"{path}: '{path.suffix}' is none of {', '.join(sorted(FORMATS))}")
    if output is None:
        return Errand(path, path.with_name(f"{path.stem}_restored{path.suffix}"))
    if alone and output.suffix.lower() in FORMATS and not output.is_dir():
        return Errand(path, output)
    return Errand(path, output / path.name)


def _of_folder(folder: Path, output: Path | None, *, alone: bool) -> list[Errand]:
    root = folder.with_name(f"{folder.resolve().name}_restored")
    if output is not None:
        root = output if alone else output / folder.resolve().name
    inside = root.resolve()
    found = [
        Errand(folder / path, root / path)
        for path in pictures_below(folder)
        if not (folder / path).resolve().is_relative_to(inside)
    ]
    if not found:
        raise BadInputError(f"{folder}: holds no pictures")
    return found


def restore_files(
    errands: Sequence[Errand], restore: RestorePixels, progress: Callable[[], None]
) -> Iterator[Done]:
    """Restore one picture after the other; those before and after are written and read meanwhile.

    A picture that cannot be read, restored or written is reported, and the others go on.
    """
    waiting: deque[tuple[Errand, Future[Photo]]] = deque()
    writing: deque[tuple[Errand, Future[None]]] = deque()
    todo = iter(errands)
    with ThreadPoolExecutor(AHEAD, "reader") as readers, ThreadPoolExecutor(1, "writer") as writer:

        def read_on() -> None:
            for errand in todo:
                waiting.append((errand, readers.submit(PhotoFile(errand.source))))
                if len(waiting) > AHEAD:
                    return

        read_on()
        while waiting:
            errand, coming = waiting.popleft()
            read_on()
            try:
                photo = coming.result()
                restored = replace(photo, pixels=restore(photo.pixels))
            except (BadInputError, OSError, MemoryError) as error:
                progress()
                yield Done(errand, _say(error))
                continue
            writing.append((errand, writer.submit(_write, errand.target, restored)))
            progress()
            while len(writing) > AHEAD:
                yield _end(*writing.popleft())
        while writing:
            yield _end(*writing.popleft())


def _end(errand: Errand, written: Future[None]) -> Done:
    try:
        written.result()
    except (BadInputError, OSError, MemoryError) as error:
        return Done(errand, _say(error))
    return Done(errand)


def _write(path: Path, photo: Photo) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, [encode_photo(photo, path.suffix)])


def _say(error: BaseException) -> str:
    return str(error) or type(error).__name__
