"""Restore picture and video files: `idemnet restore`."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path

from idemnet.errors import BadInputError
from idemnet.inference.explain import ALMOST_NOTHING, INVISIBLE, explain, measure_change
from idemnet.inference.restorer import Restorer
from idemnet.inference.results import EXPLAINED, list_results
from idemnet.inference.targets import RestoreTarget
from idemnet.inference.tiling import TileDone
from idemnet.inference.video import count_frames, restore_clip
from idemnet.media.photo import Photo
from idemnet.media.read_photo import PhotoFile
from idemnet.media.write_photo import encode_photo
from idemnet.storage.atomic import shorten, write_atomic
from idemnet.system.progress import Advance, count_items

AHEAD = 2
"""Pictures read ahead, and written behind, while another one is restored."""

FAULTS = (BadInputError, OSError, MemoryError)
"""Errors of one file, which do not stop the others."""

RestorePhoto = Callable[[RestoreTarget, Photo, TileDone], Photo]


def restore_files(
    items: Sequence[RestoreTarget],
    restorer: Restorer,
    say: Callable[[str], None],
    *,
    explained: bool,
) -> list[str]:
    """Restore pictures and videos; return an error message for each that failed.

    Args:
        items: Files to restore.
        restorer: The network.
        say: Called with messages: losses, explanations, pictures that hardly changed, and the
            result if there is only one.
        explained: Whether to report what the network did to each picture.
    """

    def restore(_: RestoreTarget, photo: Photo, tile_done: TileDone) -> Photo:
        return replace(photo, pixels=restorer.restore_pixels(photo.pixels, tile_done))

    def restore_and_explain(item: RestoreTarget, photo: Photo, tile_done: TileDone) -> Photo:
        steps = restorer.iterations(photo.pixels, tile_done)
        folder = item.target.with_name(f"{item.target.stem}{EXPLAINED}")
        precision = restorer.precision_of(photo.pixels)
        explanation = explain(folder, photo.pixels, steps, precision)
        say(f"{item.source}: {explanation.sentence()}")
        return replace(photo, pixels=steps[-1])

    for folder, chosen in groupby(items, key=lambda item: item.listed_in):
        if folder is not None:
            list_results(folder, [item.target for item in chosen])
    how = restore_and_explain if explained else restore
    outcomes = _restore_all([one for one in items if not one.is_video], how, restorer)
    for loss in sorted({loss for outcome in outcomes for loss in outcome.losses}):
        say(f"{loss}: {shorten([str(one.source) for one in outcomes if loss in one.losses])}")
    if not explained and (unchanged := [one for one in outcomes if one.is_unchanged]):
        say(_describe_unchanged(unchanged, len(outcomes)))
    failures = [outcome.failure for outcome in outcomes if outcome.failure]
    for item in items:
        if item.is_video:
            try:
                _restore_video(item, restorer)
            except FAULTS as error:
                failures.append(_say(error))
    if len(items) == 1 and not failures:
        say(str(items[0].target))
    return failures


@dataclass(frozen=True)
class Outcome:
    """Result of one picture."""

    source: Path
    failure: str = ""
    losses: tuple[str, ...] = ()
    change: float = math.inf
    """On average, of 255."""

    @property
    def is_unchanged(self) -> bool:
        return self.change < ALMOST_NOTHING


def _describe_unchanged(unchanged: Sequence[Outcome], count: int) -> str:
    if count == 1:
        [one] = unchanged
        return f"{one.source}: changed by {one.change:.2f} of 255 on average, {INVISIBLE}"
    names = shorten([f"{one.source} ({one.change:.2f})" for one in unchanged])
    return f"{len(unchanged)} of {count} changed by {INVISIBLE} (mean change, of 255): {names}"


def _restore_all(
    items: Sequence[RestoreTarget], restore: RestorePhoto, restorer: Restorer
) -> list[Outcome]:
    if not items:
        return []
    memory = restorer.how.memory
    ahead = AHEAD if memory is None else 0  # reading ahead would exceed the limit
    with count_items("restore", len(items)) as advance:
        return [*_restore_pictures(items, restore, advance, ahead=ahead, memory=memory)]


def _restore_video(item: RestoreTarget, restorer: Restorer) -> None:
    how = restorer.how.model_dump_json()
    made_with = f"{restorer.card['sha256']} {how} {restorer.precision}"
    item.target.parent.mkdir(parents=True, exist_ok=True)
    with count_items(f"restore {item.source.name}", count_frames(item.source)) as advance:
        restore_clip(
            item.source,
            item.target,
            restorer.restore_pixels,
            made_with,
            advance,
        )


def _restore_pictures(
    items: Sequence[RestoreTarget],
    restore: RestorePhoto,
    advance: Advance,
    *,
    ahead: int,
    memory: int | None,
) -> Iterator[Outcome]:
    """Restore pictures one at a time, while others are read ahead and written.

    Args:
        items: Files to restore.
        restore: Restores a picture; also gets its item.
        advance: Called for each picture and its tiles.
        ahead: Pictures read ahead, and written behind, while another one is restored.
        memory: Memory limit of the process while a picture is read or written.
    """
    waiting: deque[tuple[RestoreTarget, Future[Photo]]] = deque()
    writing: deque[tuple[RestoreTarget, Future[Outcome]]] = deque()
    todo = iter(items)
    with (
        ThreadPoolExecutor(max(1, ahead), "reader") as readers,
        ThreadPoolExecutor(1, "writer") as writer,
    ):

        def read_on(count: int) -> None:
            for item in islice(todo, max(0, count - len(waiting))):
                waiting.append((item, readers.submit(PhotoFile(item.source, memory))))

        read_on(1)
        while waiting:
            item, coming = waiting.popleft()
            read_on(ahead)
            tiles = _Tiles(item.source.name, advance)
            try:
                photo = coming.result()
                restored = restore(item, photo, tiles)
            except FAULTS as error:
                yield Outcome(item.source, _say(error))
            else:
                writing.append((item, writer.submit(_write, item, photo, restored)))
                del photo, restored  # free memory for the next one
            tiles.finish()
            while len(writing) > ahead:
                yield _end(*writing.popleft())
            read_on(1)
        while writing:
            yield _end(*writing.popleft())


class _Tiles:
    """Reports the tiles of a picture as fractions of it."""

    def __init__(self, name: str, advance: Advance) -> None:
        self._name, self._advance, self._told = name, advance, 0.0

    def __call__(self, done: int, count: int) -> None:
        if count > 1:
            part = done / count - self._told
            self._told += part
            self._advance(part, f"{self._name}, tile {done} of {count}")

    def finish(self) -> None:
        self._advance(1 - self._told)


def _end(item: RestoreTarget, written: Future[Outcome]) -> Outcome:
    try:
        return written.result()
    except FAULTS as error:
        return Outcome(item.source, _say(error))


def _write(item: RestoreTarget, before: Photo, restored: Photo) -> Outcome:
    item.target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(item.target, [encode_photo(restored, item.target.suffix)])
    change = measure_change(before.pixels, restored.pixels)
    return Outcome(item.source, losses=before.losses, change=change)


def _say(error: BaseException) -> str:
    return str(error) or type(error).__name__
