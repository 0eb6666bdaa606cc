"""CPU cores and memory of this machine."""

import ctypes
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

import psutil

_most = sys.maxsize


def limit_cores(most: int) -> None:
    """Leave the other cores to other processes, from now on."""
    global _most  # noqa: PLW0603  # of this process
    _most = most


def cores() -> int:
    """Return the number of cores that this process may use."""
    all_cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        all_cores = len(os.sched_getaffinity(0))
    return min(all_cores, _most)


def idle_cores() -> int:
    """Return how many of these cores other programs leave idle, measured for half a second."""
    loads = psutil.cpu_percent(interval=0.5, percpu=True)
    ours = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(loads))
    return sum(loads[core] < 50 for core in ours)


def peak_memory() -> int:
    """Return the peak memory of this process, in bytes.

    On Linux, `getrusage` would include the memory of the parent process.
    """
    if sys.platform == "linux":
        found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
        assert found, "every Linux says it"
        return int(found[1]) * 1024
    if sys.platform == "win32":
        peak: int = psutil.Process().memory_info().peak_wset
        return peak
    import resource  # noqa: PLC0415  # Windows has none

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Options of glibc's mallopt."""
RETURNED = 1_000_000
"""Bytes: smallest freed array that goes back to the system where memory is limited."""


def return_freed() -> None:
    """Make malloc return freed arrays to the system instead of keeping them for reuse.

    Memory can then be predicted, but page faults cost time. The setting affects the whole process,
    so only commands set it, not importable code.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):  # not glibc
            library = ctypes.CDLL(None)
            library.mallopt(M_MMAP_THRESHOLD, RETURNED)
            library.mallopt(M_TRIM_THRESHOLD, 2 * RETURNED)
