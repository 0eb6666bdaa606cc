"""train: weights from patches."""

import logging
from collections.abc import Callable
from functools import partial, update_wrapper

from idemnet.inference.weights import TrainedModel
from idemnet.parameters.train import TrainParameters
from idemnet.steps.data import Patches
from idemnet.steps.services import CheckpointStore, Tracker
from idemnet.training.job import TrainingJob

logger = logging.getLogger(__name__)


def train(
    patches: Patches,
    parameters: TrainParameters,
    checkpoints: CheckpointStore,
    tracker: Tracker,
    *,
    task: str,
) -> TrainedModel:
    """Train, or resume, or find that it is done; return the best weights.

    Raises:
        BadInputError: If the device is not there, or there is not enough to train on.
        RuntimeError: If the loss is not finite, or a training process died.
    """
    job = TrainingJob(task, parameters, patches, checkpoints, tracker)
    done = tracker.trained(job.fingerprint)
    if done is not None:
        logger.info("training %s: done before, nothing to do", task)
        return done
    # Only here, so that whoever has nothing to train need not import torch.
    from idemnet.training.launch import launch  # noqa: PLC0415
    from idemnet.training.result import describe  # noqa: PLC0415

    job.check()
    launch(job)
    final = job.load_checkpoint()
    if final is None:
        raise RuntimeError("training left no checkpoint")
    return describe(job, final)


def join(
    patches: Patches,
    parameters: TrainParameters,
    checkpoints: CheckpointStore,
    tracker: Tracker,
    *,
    task: str,
) -> None:
    """Take part in a training whose checkpoints another node saves in the same folder."""
    from idemnet.training.launch import launch  # noqa: PLC0415

    job = TrainingJob(task, parameters, patches, checkpoints, tracker, joins=True)
    job.check()
    launch(job)


def train_for(task: str) -> Callable[..., TrainedModel]:
    """Return the function of one task's node."""
    # Kedro reads the types of the parameters from the wrapped function.
    return update_wrapper(partial(train, task=task), train)
