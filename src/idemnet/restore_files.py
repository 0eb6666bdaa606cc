"""Pictures from files to files, and videos: `idemnet restore`."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path

from idemnet.datasets.clip import count_frames, restore_clip
from idemnet.datasets.files import write_whole
from idemnet.datasets.photo import PhotoFile, encode_photo
from idemnet.errands import Errand
from idemnet.errors import BadInputError
from idemnet.explaining import explain
from idemnet.photos import Photo
from idemnet.progress import count_items
from idemnet.restorer import Restorer

AHEAD = 2
"""Pictures that are read, and written, while another one is restored."""

FAULTS = (BadInputError, OSError, MemoryError)
"""Of one file, which stop no other."""

RestorePhoto = Callable[[Errand, Photo], Photo]


def restore_files(
    errands: Sequence[Errand], restorer: Restorer, say: Callable[[str], None], *, explained: bool
) -> list[str]:
    """Restore pictures and videos; give what went wrong.

    Args:
        errands: What to restore.
        restorer: What with.
        say: Told of each picture's explanation, and of the result where there is only one.
        explained: Whether to write and say what the network did to each picture.
    """

    def restore(_: Errand, photo: Photo) -> Photo:
        return replace(photo, pixels=restorer.restore_pixels(photo.pixels))

    def restore_and_explain(errand: Errand, photo: Photo) -> Photo:
        steps = restorer.iterations(photo.pixels)
        folder = errand.target.with_name(f"{errand.target.stem}_explained")
        say(f"{errand.source}: {explain(folder, photo.pixels, steps).sentence()}")
        return replace(photo, pixels=steps[-1])

    failures: list[str] = []
    pictures = [errand for errand in errands if not errand.is_video]
    if pictures:
        how = restore_and_explain if explained else restore
        # With others beside it, one picture would take more memory than it may.
        ahead = AHEAD if restorer.how.memory is None else 0
        with count_items("restore", len(pictures)) as advance:
            ended = _restore_pictures(
                pictures, how, lambda: advance(1), ahead=ahead, memory=restorer.how.memory
            )
            failures += [failure for failure in ended if failure]
    for errand in errands:
        if errand.is_video:
            try:
                _restore_video(errand, restorer)
            except FAULTS as error:
                failures.append(_say(error))
    if len(errands) == 1 and not failures:
        say(str(errands[0].target))
    return failures


def _restore_video(errand: Errand, restorer: Restorer) -> None:
    made_with = f"{restorer.card['sha256']} {restorer.how.model_dump_json()}"
    errand.target.parent.mkdir(parents=True, exist_ok=True)
    with count_items(f"restore {errand.source.name}", count_frames(errand.source)) as advance:
        restore_clip(
            errand.source,
            errand.target,
            restorer.restore_pixels,
            made_with,
            advance,
        )


def _restore_pictures(
    errands: Sequence[Errand],
    restore: RestorePhoto,
    progress: Callable[[], None],
    *,
    ahead: int,
    memory: int | None,
) -> Iterator[str | None]:
    """Restore one picture after the other; those before and after are written and read meanwhile.

    For each picture that is done, None; for one that cannot be read, restored or written, why.

    Args:
        errands: What to do.
        restore: Gives the restored picture; is told which errand it is for.
        progress: Told of each picture.
        ahead: Pictures that are read, and written, while another one is restored.
        memory: Bytes that the process may take while a picture is read or written.
    """
    waiting: deque[tuple[Errand, Future[Photo]]] = deque()
    writing: deque[Future[None]] = deque()
    todo = iter(errands)
    with (
        ThreadPoolExecutor(max(1, ahead), "reader") as readers,
        ThreadPoolExecutor(1, "writer") as writer,  # files being written share a name
    ):

        def read_on(count: int) -> None:
            for errand in islice(todo, max(0, count - len(waiting))):
                waiting.append((errand, readers.submit(PhotoFile(errand.source, memory))))

        read_on(1)
        while waiting:
            errand, coming = waiting.popleft()
            read_on(ahead)
            try:
                restored = restore(errand, coming.result())
            except FAULTS as error:
                yield _say(error)
            else:
                writing.append(writer.submit(_write, errand.target, restored))
            progress()
            while len(writing) > ahead:
                yield _end(writing.popleft())
            read_on(1)
        while writing:
            yield _end(writing.popleft())


def _end(written: Future[None]) -> str | None:
    try:
        written.result()
    except FAULTS as error:
        return _say(error)
    return None


def _write(path: Path, photo: Photo) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, [encode_photo(photo, path.suffix)])


def _say(error: BaseException) -> str:
    return str(error) or type(error).__name__
