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


M_MMAP_THRESHOLD, LARGE = -3, 16_000_000
"""A setting of glibc's, and the bytes from which on an array is the system's again when freed."""


def give_back_large_arrays() -> None:
    """Have the C library keep none of them for later: tiles then take a fifth less memory.

    It belongs to the whole process, so commands ask for it, and what others import does not.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)
