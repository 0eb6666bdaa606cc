"""Separate processes that take turns, for the other scripts."""

import os
import subprocess
import sys
from collections.abc import Callable, Collection


class Worker:
    """A Python script that answers each line on stdin with one line, until stdin closes.

    Starting a process and importing its libraries takes seconds; running processes can alternate
    faster than the machine's speed drifts.
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
    """Run as a worker: answer each line with the result of the work."""
    for line in sys.stdin:
        print(work(line.strip()), flush=True)
