"""Long work shows how far it is: a bar on a terminal, a line now and then in a log."""

import logging
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.progress import TimeRemainingColumn

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 30.0


class Progress:
    """Counts items towards a known total, with an estimate of the time left."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total = title, total
        self.started = self.said = time.monotonic()
        self.bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.on_terminal = self.bar.console.is_terminal
        self.task = self.bar.add_task(title, total=total)

    def __enter__(self) -> Self:
        if self.on_terminal:
            self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.on_terminal:
            self.bar.stop()

    def update(self, done: int) -> None:
        self.bar.update(self.task, completed=done)
        now = time.monotonic()
        if not self.on_terminal and now - self.said > SECONDS_BETWEEN_LINES:
            self.said = now
            left = (now - self.started) * (self.total - done) / max(done, 1)
            logger.info("%s: %d of %d, about %.0f s left", self.title, done, self.total, left)
