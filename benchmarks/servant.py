"""Processes of their own that take turns, for the scripts beside this one: each works when told."""

import os
import subprocess
import sys
from collections.abc import Callable, Collection


class Servant:
    """A Python script that answers a line for each it is told; it ends when nobody tells it more.

    Starting a process and loading its libraries takes seconds: two that are there can take turns as
    fast as the machine's mood changes.
    """

    def __init__(self, *arguments: str, cores: Collection[int] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if cores:
            os.sched_setaffinity(self._process.pid, cores)  # before it has loaded anything

    def __call__(self, word: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        print(word, file=self._process.stdin, flush=True)
        return self._process.stdout.readline()


def serve(work: Callable[[str], object]) -> None:
    """Be a servant: answer each line with what the work gives."""
    for line in sys.stdin:
        print(work(line.strip()), flush=True)
