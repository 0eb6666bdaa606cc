"""A training step against the bare forward, backward and update; bfloat16 against float32.

Promises: a step takes at most 1.05x the time of the bare work on the same tensors, in float32 and
in bfloat16; in bfloat16, where the CPU has instructions for it, the network of conf/starter makes
at least 1.3 times the steps; one loader worker gives at least 4x as many patches per second as the
default network takes. All is measured in one run, step by step in turn; the numbers are medians of
ratios.
"""

import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
import yaml
from prepared import prepare_patches
from promise import Promise, report, timed

from idemnet.parameters.crop import CropParameters
from idemnet.parameters.source import SceneParameters
from idemnet.parameters.synthesize import BlurParameters
from idemnet.parameters.train import TrainParameters
from idemnet.steps.data import Patches
from idemnet.system.device import has_bfloat16
from idemnet.tracking.checkpoints import Checkpoints
from idemnet.tracking.tracker import Tracker
from idemnet.training.job import TrainingJob
from idemnet.training.launch import create_state
from idemnet.training.loader import Batch, open_loader
from idemnet.training.loop import Objective, autocast, update
from idemnet.training.loss import idempotent_loss
from idemnet.training.pending import PendingUpdates
from idemnet.training.process_group import ProcessGroup
from idemnet.training.state import State

ROUNDS, STEPS = 10, 20
NO_BFLOAT16 = "this CPU has no instructions for bfloat16: its rows are left out"


def make_job(place: Path, patches: Patches, environment: str, **changes: Any) -> TrainingJob:
    settings: dict[str, Any] = {}
    for name in ("base", environment):
        path = Path(f"conf/{name}/parameters_deblur.yml")
        settings |= yaml.safe_load(path.read_text())["deblur"]["train"]
    settings |= {"single_pass_epochs": 0, "initialize_from": None, "workers": 1, **changes}
    parameters = TrainParameters.model_validate(settings)
    tracker = Tracker(place / "mlflow.db", "deblur", "set")
    return TrainingJob("deblur", parameters, patches, Checkpoints(place), tracker)


def step_of(job: TrainingJob, batch: Batch) -> Callable[[], object]:
    state = create_state(job)
    objective = Objective(state.model, job.parameters)

    def step() -> None:
        pending = PendingUpdates(job.device, scaled=state.scaler.is_enabled())
        update(objective, state, batch, job, pending)
        pending.read(ProcessGroup())

    return step


def bare_step(job: TrainingJob, state: State, batch: Batch) -> None:
    """Do what no training can do without."""
    settings = job.parameters
    with autocast(job):
        losses = idempotent_loss(
            state.model, batch[0], batch[1], passes=settings.passes, alphas=settings.alphas
        )
    torch.autograd.backward(losses["total"])
    state.optimiser.step()
    state.optimiser.zero_grad()


def compare(
    ours: Callable[[], object], theirs: Callable[[], object], steps: int
) -> tuple[list[float], float]:
    """Return each round's median ratio of times, and the median time of `theirs`."""
    by_round, seconds_of_theirs = [], []
    for round_ in range(ROUNDS):
        ratios = []
        for _ in range(steps):
            # Neighbours in time share the machine's moods; neither is always the first.
            works: Sequence[Callable[[], object]] = (ours, theirs)
            seconds = [*map(timed, works)] if round_ % 2 else [*map(timed, works[::-1])][::-1]
            ratios.append(seconds[0] / seconds[1])
            seconds_of_theirs.append(seconds[1])
        by_round.append(median(ratios))
    return by_round, median(seconds_of_theirs)


def main() -> None:
    promises = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        scene = SceneParameters(train=8, validation=1, test=1, frames=17)
        patches = prepare_patches(place, scene, BlurParameters(stride=17), CropParameters())
        precisions = ["off", "bf16"] if has_bfloat16() else ["off"]
        for precision in precisions:
            job = make_job(place, patches, "base", mixed_precision=precision)
            torch.set_num_threads(job.threads)
            batch = next(iter(open_loader(job, 0)))
            bare = partial(bare_step, job, create_state(job), batch)
            ratios, seconds = compare(step_of(job, batch), bare, STEPS)
            what = (
                f"a training step of the default network in {job.precision}, against bare forward, "
                "backward and update: time"
            )
            promises.append(Promise(what, ratios, at_most=1.05))
        loads = []
        for _ in range(ROUNDS):
            batches = iter(open_loader(job, 0))
            next(batches)  # the worker has started
            begun = time.perf_counter()
            taken = sum(1 for _ in itertools.islice(batches, STEPS))
            loads.append(seconds * taken / (time.perf_counter() - begun))
        what = "patches from one loader worker, against what the default network takes"
        promises.append(Promise(what, loads, at_least=4))
        if has_bfloat16():
            full, mixed = (
                make_job(place, patches, "starter", mixed_precision=one) for one in ("off", "bf16")
            )
            batch = next(iter(open_loader(full, 0)))
            ratios, _ = compare(step_of(full, batch), step_of(mixed, batch), STEPS // 4)
            what = "training steps of the shipped network in bfloat16, against float32"
            promises.append(Promise(what, ratios, at_least=1.3))
        else:
            print(NO_BFLOAT16, file=sys.stderr)
    report(*promises)


if __name__ == "__main__":
    main()
