"""train: weights from patches."""

import logging
from dataclasses import dataclass

from idemnet.errors import BadInputError
from idemnet.inference.weights import TrainedModel
from idemnet.parameters.train import TrainParameters
from idemnet.steps.data import Pair, Pairs, Patches
from idemnet.steps.services import CheckpointStore, Tracker
from idemnet.system.launcher import launched_place
from idemnet.training.job import TrainingJob
from idemnet.training.order import spread

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Training:
    """Description of a training; the weights dataset runs it, since it knows the run store."""

    patches: Patches
    parameters: TrainParameters
    images: tuple[Pair, ...] = ()
    """Whole held-out images to validate on."""

    def run(self, checkpoints: CheckpointStore, tracker: Tracker) -> TrainedModel:
        """Train or resume, unless it is done; return the best weights.

        Raises:
            BadInputError: If the device is not available, or there is not enough to train on.
            RuntimeError: If the loss is not finite, or a training process died.
        """
        job = self.job(checkpoints, tracker)
        done = tracker.trained(job.fingerprint)
        if done is None:
            job.check()
        if launched_place():
            from idemnet.training.rendezvous import announce  # noqa: PLC0415

            announce("" if done else job.fingerprint, self.parameters.rendezvous_minutes)
        if done is not None:
            logger.info("training %s: done before, nothing to do", job.task)
            return done
        # Imported here, so that a run with nothing to train does not import torch.
        from idemnet.training.launch import launch  # noqa: PLC0415
        from idemnet.training.result import describe  # noqa: PLC0415

        launch(job)
        final = job.load_checkpoint()
        if final is None:
            raise RuntimeError("training left no checkpoint")
        return describe(job, final)

    def join(
        self, checkpoints: CheckpointStore, tracker: Tracker, expected: str | None = None
    ) -> None:
        """Take part in a training whose checkpoints another process saves.

        Raises:
            BadInputError: If that is not the training with the `expected` fingerprint.
        """
        from idemnet.training.launch import launch  # noqa: PLC0415

        job = self.job(checkpoints, tracker, joins=True)
        if expected not in (None, job.fingerprint):
            raise BadInputError(
                "data or parameters of this process are not those of rank 0; use one shared "
                "folder, or prepare the same data on every machine"
            )
        job.check()
        launch(job)

    def job(
        self, checkpoints: CheckpointStore, tracker: Tracker, *, joins: bool = False
    ) -> TrainingJob:
        """Return the job that processes carry out."""
        return TrainingJob(
            self.patches.task,
            self.parameters,
            self.patches,
            checkpoints,
            tracker,
            self.images,
            joins,
        )


def train(patches: Patches, pairs: Pairs, parameters: TrainParameters) -> Training:
    """Train a network on patches; validate on whole images too, if that is asked for."""
    images = held_out_images(pairs, patches, parameters.validation_images)
    return Training(patches, parameters, images)


def held_out_images(pairs: Pairs, patches: Patches, count: int) -> tuple[Pair, ...]:
    """Choose whole images of the held-out sequences; none if the pairs are those of a test set."""
    held_out = [
        pair
        for pair in pairs.pairs
        if pair.split == "validation"
        or (pair.split == "train" and pair.sequence in patches.held_out)
    ]
    if not count or not held_out:
        return ()
    chosen = spread([pair.sequence for pair in held_out], count, patches.weights)
    return tuple(held_out[number] for number in chosen)
