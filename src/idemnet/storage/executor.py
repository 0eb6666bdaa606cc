"""Jobs over images and sequences, run by a `concurrent.futures.Executor`, resumable item by item.

Processes of this machine run them, or a cluster (storage/cluster.py). Either way, each job keeps a
journal of what it has finished: a killed run leaves the journals, and the next one makes only what
is missing.
"""

import multiprocessing
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from idemnet.errors import BadInputError
from idemnet.storage.journal import Journal, LineCounter, read_journals
from idemnet.system.processes import exit_with_parent, start_helpers
from idemnet.system.progress import Advance, count_items
from idemnet.system.resources import cores

POLL_SECONDS = 0.25
DIED = "a worker process died (killed, or out of memory); run the same command again to resume"


@dataclass(frozen=True)
class Job:
    """Work for one process: the names of its items, and a function that makes those wanted."""

    names: tuple[str, ...]
    make: Callable[[Collection[str]], Iterator[tuple[str, Any]]]
    alone: bool = False
    """Whether no other job of the step may run meanwhile, as when it measures times."""
    divisible: bool = False
    """Whether a cluster spreads its items over workers; on one machine, it uses every core."""


Write = Callable[[Path, str, Any], Any]
"""Writes one item below a folder and returns what the manifest should know of it (plain JSON)."""

RunJob = Callable[[Job, Path, Path, Write], dict[str, Any]]


def run_job(job: Job, folder: Path, first: Path, write: Write) -> dict[str, Any]:
    """Make what is missing of a job, in a worker; return what `write` returned for each item.

    Args:
        job: What to make.
        folder: Where items are written.
        first: The journal of the first attempt at the job.
        write: Writes an item.
    """
    if not first.parent.is_dir():
        raise BadInputError(
            f"{first.parent}: not found on {socket.gethostname()}; all machines of a cluster need "
            "the project's folder under the same path"
        )
    done = read_journals(first)
    if any(name not in done for name in job.names):
        with Journal(first) as journal:
            done = read_journals(first)  # again, as from here on no earlier attempt adds to them
            for name, content in job.make([name for name in job.names if name not in done]):
                journal.check_is_newest()
                done[name] = write(folder, name, content)
                journal.add(name, done[name])
    missing = [name for name in job.names if name not in done]
    if missing:
        raise RuntimeError(f"{len(missing)} items were not made, {missing[0]!r} first")
    return {name: done[name] for name in job.names}


@dataclass(frozen=True)
class Workers:
    """What runs the jobs of a step."""

    executor: Executor
    count: Callable[[], int]
    """Returns how many jobs can run at once; workers may join or leave a cluster."""
    run: RunJob = run_job
    part: int | None = None
    """Items that one worker is given of a divisible job; None: all of them."""


def run_jobs(
    jobs: Sequence[Job], folder: Path, journals: Path, write: Write, title: str
) -> dict[str, Any]:
    """Run all jobs on every core; return what `write` returned for each item, in order."""
    journals.mkdir(parents=True, exist_ok=True)
    total = sum(len(job.names) for job in jobs)
    at_once = sum(not job.alone for job in jobs)
    with count_items(title, total) as advance, _open(max(1, at_once)) as workers:
        parts = dict(_divide(jobs, journals.absolute(), workers.part))
        results = _run_all(workers, parts, folder.absolute(), write, advance)
    return {name: entry for first in parts for name, entry in results[first].items()}


def _divide(jobs: Sequence[Job], journals: Path, size: int | None) -> Iterator[tuple[Path, Job]]:
    for number, job in enumerate(jobs):
        if size is None or not job.divisible:
            yield journals / f"{number}.jsonl", job
            continue
        for part, at in enumerate(range(0, len(job.names), size)):
            names = job.names[at : at + size]
            yield journals / f"{number}-{part}.jsonl", replace(job, names=names)


@dataclass(frozen=True)
class _Running:
    first: Path
    job: Job
    lines: LineCounter

    def finished(self) -> int:
        return min(self.lines.count(), len(self.job.names))


def _run_all(
    workers: Workers, jobs: Mapping[Path, Job], folder: Path, write: Write, advance: Advance
) -> dict[Path, dict[str, Any]]:
    """Keep every worker busy; results by journal.

    Only a few jobs are handed over ahead: Dask counts the death of a worker against every job that
    was waiting for it, and gives up a job with which four have died.
    """
    waiting, results = deque(jobs.items()), dict[Path, dict[str, Any]]()
    running: dict[Future[dict[str, Any]], _Running] = {}
    finished = shown = most = 0
    due = time.monotonic()
    try:
        while waiting or running:
            if time.monotonic() >= due:
                due, most = time.monotonic() + POLL_SECONDS, 2 * workers.count()
                now = finished + sum(one.finished() for one in running.values())
                advance(now - shown)
                shown = now
            while waiting and _may_start(waiting[0][1], running.values(), most):
                first, job = waiting.popleft()
                future = workers.executor.submit(workers.run, job, folder, first, write)
                running[future] = _Running(first, job, LineCounter(first))
            for future in wait(running, POLL_SECONDS, FIRST_COMPLETED).done:
                one = running.pop(future)
                results[one.first] = future.result()
                finished += len(one.job.names)
        advance(finished - shown)
    finally:
        for future in running:
            future.cancel()
    return results


def _may_start(job: Job, running: Collection[_Running], most: int) -> bool:
    alone = job.alone or any(one.job.alone for one in running)
    return len(running) < (1 if alone else most)


class _Processes(ProcessPoolExecutor):
    """Processes of this machine that import what their jobs need, not the program they serve.

    Else each would first import all of Kedro's command line, which takes longer than many a job.
    """

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:  # which starts them
        with no_main_module():
            return super().submit(*args, **kwargs)


@contextmanager
def open_processes(jobs: int) -> Iterator[Workers]:
    """Start a process for each core, or for each job if these are fewer."""
    # Safe beside the threads of torch and mlflow, and what is imported once serves every worker.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["idemnet.media.image_files"])
    start_helpers()
    # Without their parent, nobody is left to take the results.
    with _Processes(min(cores(), jobs), context, exit_with_parent) as pool:
        try:
            yield Workers(pool, cores)
        except BrokenProcessPool as error:
            raise RuntimeError(DIED) from error


@contextmanager
def no_main_module() -> Iterator[None]:
    """Let processes that are started meanwhile import nothing of the program that starts them."""
    main: Any = sys.modules["__main__"]
    hidden = {name: main.__dict__.get(name) for name in ("__spec__", "__file__")}
    main.__dict__.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        main.__dict__.update(hidden)


_open: Callable[[int], AbstractContextManager[Workers]] = open_processes


@contextmanager
def workers_from(opener: Callable[[int], AbstractContextManager[Workers]]) -> Iterator[None]:
    """Run jobs on other workers than processes of this machine, meanwhile."""
    global _open  # noqa: PLW0603  # datasets, which run jobs, are made by the catalog
    before, _open = _open, opener
    try:
        yield
    finally:
        _open = before
