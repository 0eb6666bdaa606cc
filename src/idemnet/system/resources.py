"""What this machine lends us."""

import ctypes
import os
import re
import resource
import sys
from contextlib import suppress
from pathlib import Path


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def peak_memory() -> int:
    """Bytes of memory this process has held at most.

    Linux counts into `getrusage` what the process that started this one held.
    """
    if sys.platform == "linux":
        found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
        assert found, "every Linux says it"
        return int(found[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Settings of glibc's."""
TILES, SMALL = 34_000_000, 1_000_000
"""Bytes: more than most arrays of a tile of the default size have, and what is kept at most where
memory is limited."""


def keep_freed(size: int) -> None:
    """Make the C library keep arrays up to this size for later when they are freed, and no others.

    What is kept need not be fetched from the system page by page again: restoring in tiles takes a
    fifth less time than where all is given back. There, a process holds what it uses, and no more.
    Either is for the whole process, so commands ask for it, and what others import does not.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):  # another C library
            library = ctypes.CDLL(None)
            library.mallopt(M_MMAP_THRESHOLD, size)
            library.mallopt(M_TRIM_THRESHOLD, 2 * size)
