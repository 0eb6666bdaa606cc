"""Show progress: a bar on a terminal, occasional lines in a log."""

import logging
import sys
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
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 30.0
SECONDS_TO_FIRST_LINE = 5.0
"""Seconds before the first line; doubled for each further line up to `SECONDS_BETWEEN_LINES`."""


class Advance(Protocol):
    """Reports progress: a number of items, possibly fractional, and a note."""

    def __call__(self, count: float, note: str = "") -> None: ...


def count_bytes(
    title: str, *, done: int = 0, total: int | None = None
) -> AbstractContextManager[Advance]:
    """Return a function that reports progress in bytes."""
    columns: list[ProgressColumn] = [DownloadColumn(), TransferSpeedColumn()]
    return _meter(
        title,
        done,
        total,
        shown=decimal,
        pace=lambda rate: f"{decimal(round(rate))}/s",
        columns=columns,
    )


def count_items(title: str, total: int, done: int = 0) -> AbstractContextManager[Advance]:
    """Return a function that reports progress in items."""
    return _meter(title, done, total, shown=str, pace=describe_rate, columns=[_Count(), _Rate()])


def describe_rate(rate: float) -> str:
    """Return items per second, or seconds per item where that is more than one."""
    if rate <= 0:
        return ""
    return f"{rate:.1f}/s" if rate >= 1 else f"{1 / rate:.1f} s each"


def _whole(count: float) -> int:
    """Return the finished items; fractions may add up to slightly less than one."""
    return int(count + 1e-6)


class _Count(ProgressColumn):
    def render(self, task: Task) -> str:
        return f"{_whole(task.completed)}/{task.total:.0f}"


class _Rate(ProgressColumn):
    def render(self, task: Task) -> str:
        return describe_rate(task.finished_speed or task.speed or 0)


@contextmanager
def _meter(
    title: str,
    done: int,
    total: int | None,
    *,
    shown: Callable[[int], str],
    pace: Callable[[float], str],
    columns: list[ProgressColumn],
) -> Iterator[Advance]:
    console = Console(stderr=True)
    # Lines are always logged; on a terminal they only go to the log file.
    level = logging.DEBUG if console.is_terminal else logging.INFO
    line = _lines(title, done, total, shown=shown, pace=pace, level=level)
    if not console.is_terminal:
        yield line
        return
    text = TextColumn("{task.description}")
    left = TimeRemainingColumn()
    with Progress(text, BarColumn(), *columns, left, console=console, transient=True) as bar:
        task = bar.add_task(escape(title), total=total, completed=done)

        def advance(count: float, note: str = "") -> None:
            bar.update(task, advance=count, description=escape(f"{title} {note}".rstrip()))
            line(count, note)

        yield advance


def _lines(
    title: str,
    done: int,
    total: int | None,
    *,
    shown: Callable[[int], str],
    pace: Callable[[float], str],
    level: int,
) -> Advance:
    came, begun = 0.0, time.monotonic()
    gap = min(SECONDS_TO_FIRST_LINE, SECONDS_BETWEEN_LINES)
    due = begun + gap

    def advance(count: float, note: str = "") -> None:
        nonlocal came, due, gap
        came, now = came + count, time.monotonic()
        if now < due or not came:
            return
        gap = min(2 * gap, SECONDS_BETWEEN_LINES)
        due, rate = now + gap, came / max(now - begun, 1e-9)
        text = f"{title} {note}".rstrip() + f": {shown(_whole(done + came))}"
        if total is None:
            _write(level, f"{text}, {pace(rate)}")
            return
        left = max(0.0, (total - done - came) / rate)
        _write(level, f"{text} of {shown(total)}, {pace(rate)}, about {left:.0f} s left")

    return advance


def _write(level: int, text: str) -> None:
    """Log a line; without logging set up, as in our commands, write it to stderr."""
    if logger.hasHandlers():
        logger.log(level, "%s", text)
    elif level >= logging.INFO:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
