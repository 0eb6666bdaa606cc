"""Estimate what a training will cost, before it starts."""

import time

import torch

from idemnet.models.cost import count_macs, count_parameters
from idemnet.system.device import synchronise
from idemnet.system.resources import peak_memory
from idemnet.training.job import TrainingJob
from idemnet.training.loss import idempotent_loss
from idemnet.training.schedule import passes_in
from idemnet.training.state import State

BACKWARD = 2
"""A backward pass costs about twice a forward pass."""
PATIENCE = 0.5
"""Seconds per sample up to which a whole batch is timed."""


def describe_cost(job: TrainingJob, state: State) -> str:
    """Time a batch, or one sample if that is slow, and describe the total cost."""
    parameters, size = job.parameters, job.parameters.crop
    mine = parameters.batch_size // (job.processes * job.nodes)
    macs = count_macs(state.model, size, size) * parameters.passes * parameters.batch_size
    seconds = _time_step(job, state, 1) * mine
    tried = "one sample"
    if seconds < PATIENCE * mine:
        seconds, tried = _time_step(job, state, mine), "one batch"
    # The first epochs may have a single pass.
    work = sum(passes_in(parameters, epoch) for epoch in range(parameters.epochs))
    minutes = seconds * job.steps_per_epoch * work / parameters.passes / 60
    duration = f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"
    return (
        f"training {job.task}: {count_parameters(state.model):,} parameters, {job.steps:,} steps, "
        f"{(1 + BACKWARD) * macs / 1e9:.1f} GMAC per step, {_peak_gigabytes(job):.1f} GB of memory "
        f"for {tried}, about {duration} on {job.device} at its rate"
    )


def _time_step(job: TrainingJob, state: State, samples: int) -> float:
    """Time forward and backward, synchronised, after a warm-up; changes no weights."""
    size = job.parameters.crop
    images = torch.rand(samples, 3, size, size, generator=torch.Generator()).to(job.device)
    times = []
    for _ in range(2):
        synchronise(job.device)
        begun = time.perf_counter()
        losses = idempotent_loss(
            state.model, images, images, passes=job.parameters.passes, alphas=job.parameters.alphas
        )
        torch.autograd.backward(losses["total"])
        synchronise(job.device)
        times.append(time.perf_counter() - begun)
    state.optimiser.zero_grad(set_to_none=True)
    return min(times)


def _peak_gigabytes(job: TrainingJob) -> float:
    if job.device == "cuda":
        return torch.cuda.max_memory_allocated() / 1e9
    return peak_memory() / 1e9
