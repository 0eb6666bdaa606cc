"""Processes that end when the one that started them is gone."""

import multiprocessing
import os
import signal
import threading


def end_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Have a signal end this process when its parent was killed, which nobody else would tell it.

    A forkserver's children have another parent for the system than the one that waits for them, and
    so does what torch's own watch over loader workers looks at.
    """
    threading.Thread(target=_watch, args=(by,), daemon=True).start()


def _watch(by: signal.Signals) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), by)
