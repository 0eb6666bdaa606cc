"""Ctrl-C and SIGTERM: the step is finished and saved before the process leaves."""

import logging
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """While it is entered, the two signals only ask; a second one is taken at its word."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None:
            raise SystemExit(128 + number)
        self.asked = number
        logger.warning("%s: finishing this step", signal.Signals(number).name)

    def leave_if_asked(self, *, saved: bool) -> None:
        """Leave with the exit code that shells expect: 130 or 143.

        Args:
            saved: Whether it was this process that has saved, which then says so.
        """
        if self.asked is not None:
            if saved:
                logger.warning("saved; the same command goes on from here")
            raise SystemExit(128 + self.asked)
