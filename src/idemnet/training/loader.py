"""Load batches."""

import signal
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from idemnet.system.processes import exit_with_parent, start_helpers
from idemnet.training.interruption import SIGNALS
from idemnet.training.job import TrainingJob
from idemnet.training.order import (
    Draw,
    batches,
    group_by_pair,
    less_blurred,
    make_sample,
    share_epoch,
)

Sample = tuple[Tensor, Tensor, str]
Batch = tuple[Tensor, Tensor, list[str]]


class Samples(Dataset[Sample]):
    """Samples by (epoch, position), which fully determine them."""

    def __init__(self, job: TrainingJob) -> None:
        self.parameters = job.parameters
        self.patch_size = job.patches.size
        self.patches = job.patches.splits["train"]
        self.pairs = group_by_pair(self.patches)
        self.shares = share_epoch(self.patches, self.pairs, job.patches.weights)
        self.ladders = less_blurred(self.patches) if self.parameters.temporal_supervision else []

    def __getitem__(self, draw: Draw) -> Sample:
        degraded, clean, name = make_sample(
            self.patches,
            self.pairs,
            draw,
            seed=self.parameters.seed,
            patch_size=self.patch_size,
            crop=self.parameters.crop,
            saturation=self.parameters.saturation,
            softness=self.parameters.softness,
            grain=self.parameters.grain,
            ladders=self.ladders,
            iterations=self.parameters.network_arguments.get("iterations", 1),
            shares=self.shares,
        )
        return torch.from_numpy(degraded), torch.from_numpy(clean), name


class Draws(Sampler[list[Draw]]):
    """One process's part of every remaining batch."""

    def __init__(self, job: TrainingJob, start: int, rank: int, processes: int) -> None:
        self.job, self.start, self.rank, self.processes = job, start, rank, processes

    def __iter__(self) -> Iterator[list[Draw]]:
        parameters = self.job.parameters
        size = parameters.batch_size // self.processes
        mine = slice(self.rank * size, (self.rank + 1) * size)
        for batch in batches(self.job.draws, parameters.batch_size, parameters.epochs, self.start):
            yield batch[mine]


def open_loader(job: TrainingJob, start: int, rank: int = 0, processes: int = 1) -> DataLoader[Any]:
    """Load all batches from update `start` to the last; one loader serves all epochs."""
    # Patches on disk are prefetched in a separate process.
    workers = job.parameters.workers or int(not job.patches.splits["train"].fits_in_memory)
    if workers:
        start_helpers()
    return DataLoader(
        Samples(job),
        batch_sampler=Draws(job, start, rank, processes),
        num_workers=workers,
        collate_fn=_collate,
        pin_memory=job.device == "cuda",
        # Not forked: the tracker's thread may be importing at that moment.
        multiprocessing_context="forkserver" if workers else None,
        worker_init_fn=_start_worker,
        generator=torch.Generator(),  # does not advance the global generator
    )


class Waiting:
    """Batches of a loader, and the share of time spent waiting for them."""

    def __init__(self, loader: Iterable[Batch]) -> None:
        self._loader = loader
        self._waited = self._worked = 0.0

    def __iter__(self) -> Iterator[Batch]:
        batches, asked = iter(self._loader), time.perf_counter()
        for batch in batches:
            given = time.perf_counter()
            yield batch
            before, asked = asked, time.perf_counter()
            # A moving average: only recent updates matter.
            self._waited += 0.05 * (given - before - self._waited)
            self._worked += 0.05 * (asked - given - self._worked)

    def note(self) -> str:
        """Return a note for the progress display; empty below 5 percent."""
        share = self._waited / max(self._waited + self._worked, 1e-9)
        return f" waiting for data {share:.0%}" if share > 0.05 else ""


def _start_worker(_: int) -> None:
    """Ignore signals that may reach the whole process group: the parent still needs its workers."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    exit_with_parent()


def _collate(samples: list[Sample]) -> Batch:
    """Stack images as (N, 3, H, W) in channels-last memory, without copying.

    With a clean image for every iteration, they are (N, iterations, 3, H, W).
    """
    degraded = torch.stack([sample[0] for sample in samples]).movedim(-1, -3)
    clean = torch.stack([sample[1] for sample in samples]).movedim(-1, -3)
    return degraded, clean, [sample[2] for sample in samples]
