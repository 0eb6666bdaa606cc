"""What a training will cost, said before it starts."""

import time

import torch

from idemnet.models.cost import count_macs, count_parameters
from idemnet.system.device import synchronise
from idemnet.system.resources import peak_memory
from idemnet.training.job import TrainingJob
from idemnet.training.loss import idempotent_loss
from idemnet.training.schedule import passes
from idemnet.training.state import State

BACKWARD = 2
"""A gradient costs about twice what the forward pass costs."""
PATIENCE = 0.5
"""Seconds that one sample may take for a whole batch to be tried too."""


def describe_cost(job: TrainingJob, state: State) -> str:
    """Try a batch, or one sample where that is slow, and say what the whole will take."""
    parameters, size = job.parameters, job.parameters.crop
    mine = parameters.batch_size // (parameters.processes * parameters.nodes)
    macs = count_macs(state.model, size, size) * parameters.times * parameters.batch_size
    seconds = _time_step(job, state, 1) * mine
    tried = "one sample"
    if seconds < PATIENCE * mine:
        seconds, tried = _time_step(job, state, mine), "one batch"
    # In the warm-up there is one pass instead of several.
    work = sum(passes(parameters, epoch) for epoch in range(parameters.epochs))
    minutes = seconds * job.steps_per_epoch * work / parameters.times / 60
    duration = f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"
    return (
        f"training {job.task}: {count_parameters(state.model):,} parameters, {job.steps:,} steps, "
        f"{(1 + BACKWARD) * macs / 1e9:.1f} GMAC per step, {_peak_gigabytes(job):.1f} GB of memory "
        f"for {tried}, about {duration} on {job.device} at its rate"
    )


def _time_step(job: TrainingJob, state: State, samples: int) -> float:
    """Measure forward and backward, synchronised, after a warm-up; no weight is changed."""
    size = job.parameters.crop
    images = torch.rand(samples, 3, size, size, generator=torch.Generator()).to(job.device)
    times = []
    for _ in range(2):
        synchronise(job.device)
        begun = time.perf_counter()
        losses = idempotent_loss(
            state.model, images, images, times=job.parameters.times, alphas=job.parameters.alphas
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
