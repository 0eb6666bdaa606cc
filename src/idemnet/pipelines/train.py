"""train: weights from patches."""

import logging
from dataclasses import dataclass

from idemnet.errors import BadInputError
from idemnet.inference.weights import TrainedModel
from idemnet.parameters.train import TrainParameters
from idemnet.steps.data import Patches
from idemnet.steps.services import CheckpointStore, Tracker
from idemnet.system.launcher import launched_place
from idemnet.training.job import TrainingJob

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Training:
    """Description of a training; the weights dataset runs it, since it knows the run store."""

    patches: Patches
    parameters: TrainParameters

    def run(self, checkpoints: CheckpointStore, tracker: Tracker) -> TrainedModel:
        """Train or resume, unless it is done; return the best weights.

        Raises:
            BadInputError: If the device is not available, or there is not enough to train on.
            RuntimeError: If the loss is not finite, or a training process died.
        """
        job = self._job(checkpoints, tracker)
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

        job = self._job(checkpoints, tracker, joins=True)
        if expected not in (None, job.fingerprint):
            raise BadInputError(
                "data or parameters of this process are not those of rank 0; use one shared "
                "folder, or prepare the same data on every machine"
            )
        job.check()
        launch(job)

    def _job(
        self, checkpoints: CheckpointStore, tracker: Tracker, *, joins: bool = False
    ) -> TrainingJob:
        task = self.patches.task
        return TrainingJob(task, self.parameters, self.patches, checkpoints, tracker, joins)


def train(patches: Patches, parameters: TrainParameters) -> Training:
    """Train a network on patches."""
    return Training(patches, parameters)
