"""Peak memory of a command with all its processes, for the other scripts."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from idemnet.system.resources import peak_memory


def peak(*arguments: str) -> float:
    """Run a Python script in a process of its own and watch it; return MB.

    The peak is the sum of the peaks of all processes that are alive at one time, as the kernel
    counts them (resident memory): each step has workers of its own.
    """
    command = [sys.executable, *arguments]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    most = 0.0
    while process.poll() is None:
        most = max(most, sum(_peaks_of_session(process.pid)))
        time.sleep(0.05)
    assert process.returncode == 0
    return most


def run(*arguments: str) -> str:
    """Run a Python script in a process of its own; return what it prints."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def growth(work: Callable[[], object]) -> float:
    """Return the MB by which this process's peak grows; works once per process."""
    before = psutil.Process().memory_info().rss
    work()
    return (peak_memory() - before) / 1e6


def _peaks_of_session(session: int) -> list[float]:
    """Return the peak so far of every process of a session that is alive."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(place.name)) == session:
                status = (place / "status").read_text()
                found += [int(kb) / 1024 for kb in re.findall(r"VmHWM:\s+(\d+)", status)]
        except OSError:
            continue  # it has exited meanwhile
    return found
