"""train: weights from patches."""

from collections.abc import Callable
from functools import partial, update_wrapper

from idemnet.parameters import TrainParameters
from idemnet.recipes import CheckpointStore, Patches, Tracker, TrainedModel


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
    # torch takes seconds, which data steps do not wait for.
    from idemnet.training.job import TrainingJob  # noqa: PLC0415
    from idemnet.training.launch import run_team  # noqa: PLC0415
    from idemnet.training.result import describe  # noqa: PLC0415

    job = TrainingJob(task, parameters, patches, checkpoints, tracker)
    job.check()
    run_team(job)
    final = checkpoints.load(job.fingerprint)
    if final is None:
        raise RuntimeError("training left no checkpoint")
    return describe(job, final)


def train_for(task: str) -> Callable[..., TrainedModel]:
    """Give the function of one task's node."""
    # Kedro reads the types of the parameters from the wrapped function.
    return update_wrapper(partial(train, task=task), train)
