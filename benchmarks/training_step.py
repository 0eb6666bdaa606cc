"""A training step against the bare forward, backward and update; the loader against the network.

Promises: a step takes at most 1.05x the time of the bare work on the same tensors; one loader
worker gives at least 4x as many patches per second as the default network takes. Both are measured
in turn, several times, in one run.
"""

import itertools
import tempfile
import time
from pathlib import Path
from statistics import median

import torch
import yaml
from prepared import prepare_patches

from idemnet.datasets.checkpoint import Checkpoints
from idemnet.datasets.tracking import Tracker
from idemnet.parameters import (
    BlurParameters,
    CropParameters,
    SceneParameters,
    TrainParameters,
)
from idemnet.training.job import TrainingJob
from idemnet.training.launch import create_state
from idemnet.training.loader import open_loader
from idemnet.training.loop import Objective, update
from idemnet.training.loss import idempotent_loss

ROUNDS, STEPS = 7, 20


def make_job(place: Path) -> TrainingJob:
    settings = yaml.safe_load(Path("conf/base/parameters_deblur.yml").read_text())["deblur"][
        "train"
    ]
    scene = SceneParameters(train=8, validation=1, test=1, frames=17)
    patches = prepare_patches(place, scene, BlurParameters(stride=17), CropParameters())
    parameters = TrainParameters.model_validate({**settings, "warmup_epochs": 0, "workers": 1})
    tracker = Tracker(place, "deblur", "set", "", "deblur")
    return TrainingJob("deblur", parameters, patches, Checkpoints(place), tracker)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        job = make_job(Path(place))
        torch.set_num_threads(job.threads)
        state, bare = create_state(job), create_state(job)
        objective = Objective(state.model, job.parameters)
        loader = open_loader(job, 0)
        batch = next(iter(loader))
        steps, loads = [], []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            for _ in range(STEPS):
                update(objective, state, batch, 0, job)
            ours = time.perf_counter() - begun
            begun = time.perf_counter()
            for _ in range(STEPS):
                loss = idempotent_loss(bare.model, batch[0], batch[1])["total"]
                torch.autograd.backward(loss)
                bare.optimiser.step()
                bare.optimiser.zero_grad()
            theirs = time.perf_counter() - begun
            steps.append(ours / theirs)
            batches = iter(open_loader(job, 0))
            next(batches)  # the worker has started
            begun = time.perf_counter()
            taken = sum(1 for _ in itertools.islice(batches, STEPS))
            loading = (time.perf_counter() - begun) / taken
            loads.append(theirs / STEPS / loading)
    print(f"training step / bare work:   {median(steps):.3f} (at most 1.050)")
    print(f"loader / network, patches/s: {median(loads):.1f} (at least 4.0)")
    assert median(steps) <= 1.05
    assert median(loads) >= 4


if __name__ == "__main__":
    main()
