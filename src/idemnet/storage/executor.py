"""Jobs in parallel processes, resumable item by item.

Each job keeps a journal: one line for every item it has finished. A killed run leaves the journals,
and the next one asks each job only for what is missing.
"""

import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from idemnet.storage.atomic import raise_if_disk_full, write_all
from idemnet.system.processes import exit_with_parent
from idemnet.system.progress import Advance, count_items
from idemnet.system.resources import TILES, cores, keep_freed


@dataclass(frozen=True)
class Job:
    """Work for one process: the names it makes, and how to make those of them that are wanted."""

    names: tuple[str, ...]
    make: Callable[[Collection[str]], Iterator[tuple[str, Any]]]


Write = Callable[[Path, str, Any], Any]
"""Writes one item below a folder and returns what the manifest should know of it (plain JSON)."""

_finished: Any = None
"""Items finished by all workers together; shared memory, set in each worker."""


def run_jobs(
    jobs: Sequence[Job], folder: Path, journals: Path, write: Write, title: str
) -> dict[str, Any]:
    """Run all jobs on every core and return what `write` said of each item, in the jobs' order."""
    journals.mkdir(parents=True, exist_ok=True)
    # Safe beside the threads of torch and mlflow, and what is imported once serves every worker.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["idemnet.media.image_files"])
    finished = context.Value("q", 0)
    total = sum(len(job.names) for job in jobs)
    with (
        count_items(title, total) as advance,
        ProcessPoolExecutor(
            min(cores(), max(1, len(jobs))), context, _start_worker, (finished,)
        ) as pool,
    ):
        with _no_main_module():
            futures = [
                pool.submit(_run_job, job, folder, journals / f"{number}.jsonl", write)
                for number, job in enumerate(jobs)
            ]
        _wait_for(futures, finished, advance)
        return {name: entry for future in futures for name, entry in future.result().items()}


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Let workers import what their jobs need, not the program that starts them.

    Else each would first import all of Kedro's command line, which takes longer than many a job.
    """
    main: Any = sys.modules["__main__"]
    hidden = {name: main.__dict__.get(name) for name in ("__spec__", "__file__")}
    main.__dict__.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        main.__dict__.update(hidden)


def _wait_for(futures: Sequence[Future[dict[str, Any]]], finished: Any, advance: Advance) -> None:
    pending, shown = set(futures), 0
    try:
        while pending:
            done, pending = wait(pending, timeout=0.25)
            advance(finished.value - shown)
            shown = finished.value
            for future in done:
                future.result()
    except BrokenProcessPool as error:
        raise RuntimeError(
            "a worker process died (killed, or out of memory); run again to go on from here"
        ) from error
    finally:
        for future in pending:
            future.cancel()


def _start_worker(finished: Any) -> None:
    global _finished  # noqa: PLW0603 - shared memory reaches a worker only through its initializer
    _finished = finished
    keep_freed(TILES)  # from the first image on, as glibc would after many
    exit_with_parent()  # nobody is left to take the results


def _run_job(job: Job, folder: Path, journal: Path, write: Write) -> dict[str, Any]:
    done = read_journal(journal)
    _count(len(done))
    wanted = [name for name in job.names if name not in done]
    if wanted:
        with journal.open("ab", buffering=0) as lines:
            for name, content in job.make(wanted):
                done[name] = write(folder, name, content)
                _add_line(lines, json.dumps([name, done[name]]) + "\n", journal)
                _count(1)
    missing = [name for name in job.names if name not in done]
    if missing:
        raise RuntimeError(f"{len(missing)} items were not made, {missing[0]!r} first")
    return {name: done[name] for name in job.names}


def _add_line(lines: BinaryIO, line: str, journal: Path) -> None:
    try:
        write_all(lines, line.encode())
    except OSError as error:
        raise_if_disk_full(error, journal, len(line))
        raise


def read_journal(journal: Path) -> dict[str, Any]:
    """Read what an earlier run finished, and cut off a line that a kill left unfinished."""
    if not journal.exists():
        return {}
    lines = journal.read_bytes().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        torn = lines.pop()
        os.truncate(journal, journal.stat().st_size - len(torn))
    return dict(json.loads(line) for line in lines)


def _count(items: int) -> None:
    if _finished is not None:
        with _finished.get_lock():
            _finished.value += items
