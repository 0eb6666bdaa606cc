"""Schedules: the learning rate, and the number of passes."""

import math

from idemnet.parameters.train import TrainParameters


def learning_rate(parameters: TrainParameters, step: int, steps_per_epoch: int) -> float:
    """Return the learning rate of update number `step`, counted from 0."""
    if parameters.schedule == "cosine":
        done = step / (parameters.epochs * steps_per_epoch)
        factor = (1 + math.cos(math.pi * done)) / 2
    else:
        factor = parameters.decay ** (step // steps_per_epoch // parameters.decay_epochs)
    warmup = min(1.0, (step + 1) / parameters.warmup_steps) if parameters.warmup_steps else 1.0
    return parameters.learning_rate * factor * warmup


def passes_in(parameters: TrainParameters, epoch: int) -> int:
    """Return the number of passes in an epoch: one in the first epochs, then all."""
    return 1 if epoch < parameters.single_pass_epochs else parameters.passes
