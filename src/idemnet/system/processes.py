"""Processes that end when the one that started them is gone."""

import multiprocessing
import os
import signal
import threading


def exit_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Make a signal end this process when its parent was killed.

    To the system, a forkserver's children have the forkserver for a parent, which lives as long as
    they do: that is what torch's own watch over loader workers sees.
    """
    threading.Thread(target=_watch, args=(by,), daemon=True).start()


def _watch(by: signal.Signals) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), by)
