"""train: weights from patches."""

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

import idemnet
from idemnet.models.cost import count_parameters
from idemnet.parameters import TrainParameters
from idemnet.recipes import CheckpointStore, Patches, Tracker, TrainedModel
from idemnet.training.job import TrainingJob
from idemnet.training.launch import run_team


def train(
    patches: Patches,
    parameters: TrainParameters,
    checkpoints: CheckpointStore,
    tracker: Tracker,
    *,
    task: str,
) -> TrainedModel:
    """Train, or go on training, or find that it is done; give the best weights.

    Raises:
        BadInputError: If the device is not there, or there is not enough to train on.
        RuntimeError: If the loss is not finite, or a training process died.
    """
    job = TrainingJob(task, parameters, patches, checkpoints, tracker)
    job.check()
    run_team(job)
    final = checkpoints.load(job.fingerprint)
    if final is None:
        raise RuntimeError("training left no checkpoint")
    best = final["best"]
    return TrainedModel(best["weights"], _card(job, best), final["history"])


def train_for(task: str) -> Callable[..., TrainedModel]:
    """Give the function of one task's node."""
    # Kedro reads the types of the parameters from the wrapped function.
    return update_wrapper(partial(train, task=task), train)


def _card(job: TrainingJob, best: dict[str, Any]) -> dict[str, Any]:
    return {
        "task": job.task,
        "architecture": job.parameters.model,
        "arguments": job.parameters.network.model_dump(mode="json"),
        "parameters": count_parameters(job.build_model()),
        "training": job.parameters.model_dump(mode="json"),
        "epoch": best["epoch"],
        "validation": best["scores"],
        "data_fingerprint": job.patches.fingerprint,
        "fingerprint": job.fingerprint,
        "device": job.device,
        "threads": job.threads,
        "idemnet": idemnet.__version__,
    }
