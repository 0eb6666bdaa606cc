"""What a training will cost, said before it starts."""

import resource
import sys
import time

import torch

from idemnet.models.cost import count_macs, count_parameters
from idemnet.training.job import TrainingJob
from idemnet.training.loss import idempotent_loss
from idemnet.training.state import State

BACKWARD = 2
"""A gradient costs about twice what the forward pass costs."""


def describe_cost(job: TrainingJob, state: State) -> str:
    """Try one sample, forward and backward, and say what the whole will take."""
    parameters, size = job.parameters, job.parameters.crop
    macs = count_macs(state.model, size, size) * parameters.times * parameters.batch_size
    seconds = _time_one_sample(job, state) * parameters.batch_size
    seconds /= parameters.processes * parameters.nodes
    hours = job.steps * seconds / 3600
    duration = f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.1f} min"
    return (
        f"training {job.task}: {count_parameters(state.model):,} parameters, {job.steps:,} steps, "
        f"{(1 + BACKWARD) * macs / 1e9:.1f} GMAC per step, about {_peak_gigabytes(job):.1f} GB of "
        f"memory, about {duration} on {job.device} at the rate of one sample tried"
    )


def _time_one_sample(job: TrainingJob, state: State) -> float:
    size = job.parameters.crop
    sample = torch.rand(1, 3, size, size, generator=torch.Generator()).to(job.device)
    times = []
    for _ in range(2):  # the first one warms up
        _wait(job.device)
        begun = time.perf_counter()
        losses = idempotent_loss(
            state.model, sample, sample, times=job.parameters.times, alphas=job.parameters.alphas
        )
        losses["total"].backward()
        _wait(job.device)
        times.append(time.perf_counter() - begun)
    state.optimiser.zero_grad(set_to_none=True)
    return min(times)


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _peak_gigabytes(job: TrainingJob) -> float:
    """Give the peak so far, with what the rest of the batch will add to that of one sample."""
    if job.device == "cuda":
        one = torch.cuda.max_memory_allocated()
    else:
        unit = 1 if sys.platform == "darwin" else 1024
        one = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return one / 1e9
