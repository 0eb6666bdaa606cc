"""A training step against the bare forward, backward and update; the loader against the network.

Promises: a step takes at most 1.05x the time of the bare work on the same tensors; one loader
worker gives at least 4x as many patches per second as the default network takes. Both are measured
in one run, ours and the bare work step by step in turn; the figures are medians of ratios.
"""

import itertools
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import torch
import yaml
from prepared import prepare_patches
from promise import Promise, report, timed

from idemnet.data_parameters import BlurParameters, CropParameters, SceneParameters
from idemnet.datasets.checkpoint import Checkpoints
from idemnet.datasets.tracking import Tracker
from idemnet.parameters import TrainParameters
from idemnet.training.job import TrainingJob
from idemnet.training.launch import create_state
from idemnet.training.loader import Batch, open_loader
from idemnet.training.loop import Objective, update
from idemnet.training.loss import idempotent_loss
from idemnet.training.state import State

ROUNDS, STEPS = 10, 20


def make_job(place: Path) -> TrainingJob:
    settings = yaml.safe_load(Path("conf/base/parameters_deblur.yml").read_text())["deblur"][
        "train"
    ]
    scene = SceneParameters(train=8, validation=1, test=1, frames=17)
    patches = prepare_patches(place, scene, BlurParameters(stride=17), CropParameters())
    parameters = TrainParameters.model_validate({**settings, "warmup_epochs": 0, "workers": 1})
    tracker = Tracker(place, "deblur", "set", "", "deblur")
    return TrainingJob("deblur", parameters, patches, Checkpoints(place), tracker)


def work(state: State, batch: Batch, settings: TrainParameters) -> None:
    """Do what no training can do without."""
    losses = idempotent_loss(
        state.model, batch[0], batch[1], times=settings.times, alphas=settings.alphas
    )
    torch.autograd.backward(losses["total"])
    state.optimiser.step()
    state.optimiser.zero_grad()


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        job = make_job(Path(place))
        torch.set_num_threads(job.threads)
        state, bare = create_state(job), create_state(job)
        objective = Objective(state.model, job.parameters)
        loader = open_loader(job, 0)
        batch = next(iter(loader))
        by_round, theirs, loads = [], [], []
        for round_ in range(ROUNDS):
            ratios = []
            for _ in range(STEPS):
                works: list[Callable[[], object]] = [
                    partial(update, objective, state, batch, 0, job),
                    partial(work, bare, batch, job.parameters),
                ]
                # Neighbours in time share the machine's moods; neither is always the first.
                seconds = [*map(timed, works)] if round_ % 2 else [*map(timed, works[::-1])][::-1]
                ratios.append(seconds[0] / seconds[1])
                theirs.append(seconds[1])
            by_round.append(median(ratios))
            batches = iter(open_loader(job, 0))
            next(batches)  # the worker has started
            begun = time.perf_counter()
            taken = sum(1 for _ in itertools.islice(batches, STEPS))
            loads.append(median(theirs) * taken / (time.perf_counter() - begun))
    report(
        Promise(
            "a training step of the default network, against bare forward, backward and update: "
            "time",
            by_round,
            at_most=1.05,
        ),
        Promise(
            "patches from one loader worker, against what the default network takes",
            loads,
            at_least=4,
        ),
    )


if __name__ == "__main__":
    main()
