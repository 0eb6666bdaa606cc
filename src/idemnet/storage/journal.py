"""Journals of jobs: one line for every item that is finished, so that a job can be resumed.

Every attempt at a job writes a journal of its own (`3.jsonl`, `3.1.jsonl`, ...): no two machines
append to one file. A newer attempt supersedes those before it: a worker that was taken for dead and
still runs stops at its next item.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Self

from idemnet.storage.atomic import raise_if_disk_full, write_all


class SupersededError(RuntimeError):
    """A newer attempt at the job has begun, or its result is published: nobody needs this one."""


class Journal:
    """The journal of one attempt; opening it supersedes the attempts before."""

    def __init__(self, first: Path) -> None:
        """Begin the next attempt at a job, named by the journal of its first one."""
        attempts = _attempts(first)
        self._path, self._file = next(
            (path, file) for path in attempts if (file := _create(path)) is not None
        )
        self._next = next(attempts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def check_is_newest(self) -> None:
        """Raise an error if nobody waits for this attempt any more."""
        if self._next.exists() or not self._path.exists():
            raise SupersededError(f"{self._path}: another attempt at this job has begun")

    def add(self, name: str, entry: Any) -> None:
        """Note an item that was written."""
        line = json.dumps([name, entry]) + "\n"
        try:
            write_all(self._file, line.encode())
        except OSError as error:
            raise_if_disk_full(error, self._path, len(line))
            raise


class LineCounter:
    """Counts the items that a job has finished, in all attempts; reads every byte once."""

    def __init__(self, first: Path) -> None:
        self._first = first
        self._seen: dict[Path, tuple[int, int]] = {}
        """Bytes and lines of each journal."""

    def count(self) -> int:
        """Return how many lines there are by now."""
        for path in _attempts(self._first):
            size, lines = self._seen.get(path, (0, 0))
            try:
                with path.open("rb") as file:
                    file.seek(size)
                    new = file.read()
            except FileNotFoundError:
                break
            self._seen[path] = size + len(new), lines + new.count(b"\n")
        return sum(lines for _, lines in self._seen.values())


def read_journals(first: Path) -> dict[str, Any]:
    """Read what all attempts at a job have finished; a line torn by a kill is not believed."""
    done: dict[str, Any] = {}
    for path in _attempts(first):
        try:
            *lines, _ = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            break
        for line in lines:
            with suppress(ValueError):  # zeros, where a machine went down
                name, entry = json.loads(line)
                done[name] = entry
    return done


def _attempts(first: Path) -> Iterator[Path]:
    yield first
    for number in count(1):
        yield first.with_suffix(f".{number}.jsonl")


def _create(path: Path) -> BinaryIO | None:
    """Open a new file, atomically on network file systems too; return None if there is one."""
    try:
        return path.open("xb", buffering=0)
    except FileExistsError:
        return None
