"""Long work shows how far it is: a bar on a terminal, a line now and then in a log."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 30.0


class Advance(Protocol):
    """Told of every so many more, and of what may be said beside."""

    def __call__(self, count: int, note: str = "") -> None: ...


def count_bytes(
    title: str, *, done: int = 0, total: int | None = None
) -> AbstractContextManager[Advance]:
    """Give a function to be told of every so many bytes more."""
    return _meter(title, done, total, decimal, [DownloadColumn(), TransferSpeedColumn()])


def count_items(title: str, total: int, done: int = 0) -> AbstractContextManager[Advance]:
    """Give a function to be told of every so many items more."""
    return _meter(title, done, total, str, [MofNCompleteColumn(), _PerSecond()])


class _PerSecond(ProgressColumn):
    def render(self, task: Task) -> str:
        return f"{task.finished_speed or task.speed or 0:.1f}/s"


@contextmanager
def _meter(
    title: str,
    done: int,
    total: int | None,
    shown: Callable[[int], str],
    columns: list[ProgressColumn],
) -> Iterator[Advance]:
    console = Console(stderr=True)
    # Lines are written either way: on a terminal they are for the log file alone.
    level = logging.DEBUG if console.is_terminal else logging.INFO
    line = _lines(title, done, total, shown, level)
    if not console.is_terminal:
        yield line
        return
    text = TextColumn("{task.description}")
    left = TimeRemainingColumn()
    with Progress(text, BarColumn(), *columns, left, console=console, transient=True) as bar:
        task = bar.add_task(escape(title), total=total, completed=done)

        def advance(count: int, note: str = "") -> None:
            bar.update(task, advance=count, description=escape(f"{title} {note}".rstrip()))
            line(count, note)

        yield advance


def _lines(
    title: str, done: int, total: int | None, shown: Callable[[int], str], level: int
) -> Advance:
    came, begun = 0, time.monotonic()
    said = begun

    def advance(count: int, note: str = "") -> None:
        nonlocal came, said
        came, now = came + count, time.monotonic()
        if now - said < SECONDS_BETWEEN_LINES or not came:
            return
        said, rate = now, came / max(now - begun, 1e-9)
        text = f"{title} {note}".rstrip() + f": {shown(done + came)}"
        if total is None:
            logger.log(level, "%s, %s/s", text, shown(round(rate)))
            return
        left = (total - done - came) / max(rate, 1e-9)
        text += f" of {shown(total)}, {shown(round(rate))}/s"
        logger.log(level, "%s, about %.0f s left", text, left)

    return advance
