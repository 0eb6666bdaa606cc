"""Write to the store in a background thread, so that its errors do not stop training."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from idemnet.tracking.store import Value, log_all
from idemnet.tracking.uri import explain, sqlite_uri

logger = logging.getLogger(__name__)

INTERVAL, PAUSE = 3, 60
"""Seconds between writes, and after a failed one."""
Write = Callable[[Any, str], object]
"""Writes something to a run by its ID, with MLflow's client; may be repeated."""
Opened = tuple[Any, str, Mapping[str, int]]
"""A client, a run ID, and the last stored step of each metric."""


class Buffer:
    """Values of one run that are not stored yet."""

    def __init__(self, store: Path, open_run: Callable[[], Opened]) -> None:
        self._store, self._open = store, open_run
        self._metrics: list[Value] = []
        self._writes: list[Write] = []
        self._thread = ThreadPoolExecutor(1, "mlflow")
        self._opened: Opened | None = None
        self._next = 0.0
        self._failing = False

    def add(self, *writes: Write, metrics: Iterable[Value] = ()) -> None:
        """Queue something to be stored within seconds."""
        self._metrics += metrics
        self._writes += writes
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + INTERVAL
            self._thread.submit(self._write)

    def flush(self) -> None:
        """Wait until everything is stored, unless storing failed within the last minute."""
        if not self._failing or time.monotonic() >= self._next:
            self._thread.submit(self._write).result()

    def close(self) -> None:
        """Store what is left, if possible."""
        self._thread.submit(self._write).result()
        self._thread.shutdown()
        if self._metrics or self._writes:
            logger.warning(
                "tracking: %s is missing a part of this run; repeat the command when the store can "
                "be written to",
                self._store,
            )

    def _write(self) -> None:
        if not (self._metrics or self._writes):
            return
        try:
            client, run, reached = self._opened = self._opened or self._open()
            some = list(self._metrics)
            # A resumed training recomputes some steps.
            log_all(client, run, [one for one in some if one[3] > reached.get(one[0], -1)])
            del self._metrics[: len(some)]
            while self._writes:
                self._writes[0](client, run)
                del self._writes[0]
            self._failing = False
        except Exception as error:  # any exception: it must not stop the training
            if not self._failing:
                reason = explain(error, sqlite_uri(self._store))
                logger.warning("tracking: %s: %s; training continues", self._store, reason)
            self._opened, self._failing = None, True
            self._next = time.monotonic() + PAUSE
