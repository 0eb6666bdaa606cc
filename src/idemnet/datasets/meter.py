"""Bytes on their way: a bar on a terminal, a line now and then in a log."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 30.0

Advance = Callable[[int], None]


@contextmanager
def meter(title: str, *, done: int = 0, total: int | None = None) -> Iterator[Advance]:
    """Give a function to be told of every so many bytes more."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(title, done, total)
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task(escape(title), total=total, completed=done)
        yield lambda count: bar.advance(task, count)


def _lines(title: str, done: int, total: int | None) -> Advance:
    came, begun = 0, time.monotonic()
    said = begun

    def advance(count: int) -> None:
        nonlocal came, said
        came, now = came + count, time.monotonic()
        if now - said < SECONDS_BETWEEN_LINES:
            return
        said, rate = now, came / max(now - begun, 1e-9)
        if total is None:
            logger.info("%s: %s, %s/s", title, decimal(done + came), decimal(int(rate)))
            return
        left = (total - done - came) / max(rate, 1.0)
        how_far = f"{decimal(done + came)} of {decimal(total)}"
        logger.info("%s: %s, %s/s, about %.0f s left", title, how_far, decimal(int(rate)), left)

    return advance
