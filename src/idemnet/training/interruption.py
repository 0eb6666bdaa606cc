"""Stop a training on signals and limits, after the current step is saved."""

import logging
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""Ctrl-C, the end of a job, and the warning that schedulers send before it."""
SAVED = "saved; the same command resumes from here"


class Interruption:
    """Defer signals until the current step is saved; a second signal exits at once."""

    def __init__(self) -> None:
        self.asked = 0
        """Number of the received signal; 0: none."""
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
        if self.asked:
            raise SystemExit(128 + number)
        self.asked = number
        logger.warning(
            "%s: finishing this step; send it again to exit at once", signal.Signals(number).name
        )


def stop(signal_number: int = 0) -> NoReturn:
    """Exit before the training is finished, so that no later step runs.

    The exit code is 128 plus the signal (130, 138, 143), or 0 at a time limit. DVC would treat 0 as
    a finished stage, so it gets an error instead.
    """
    if signal_number:
        raise SystemExit(128 + signal_number)
    raise SystemExit(os.EX_TEMPFAIL if "DVC_STAGE" in os.environ else 0)
