"""Start processes that SIGUSR1 does not end, and end processes when their parent exits."""

import multiprocessing
import os
import signal
import threading
from multiprocessing import forkserver, resource_tracker


def start_helpers() -> None:
    """Start multiprocessing's own processes, which SIGUSR1 does not end.

    Schedulers send it to the whole process group, and a training then saves. They, and what they
    start, inherit that it is blocked; of Ctrl-C they take care by themselves.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        resource_tracker.ensure_running()
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


KILL: signal.Signals = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Windows has only SIGTERM, which ends a process there just as well."""


def exit_with_parent(by: signal.Signals = KILL) -> None:
    """Send this process a signal when its parent is gone.

    The OS parent of a forkserver's children is the forkserver, which lives as long as they do, so
    torch's own watchdog of loader workers does not notice.
    """
    threading.Thread(target=_watch, args=(by,), daemon=True).start()


def _watch(by: signal.Signals) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), by)
