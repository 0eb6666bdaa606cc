"""A training described: everything a process needs to take part in it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import psutil

from idemnet.errors import BadInputError
from idemnet.parameters.train import TrainParameters
from idemnet.steps import versions
from idemnet.steps.data import Patches
from idemnet.steps.plan import fingerprint, flatten
from idemnet.steps.services import CheckpointStore, Tracker
from idemnet.system.resources import cores
from idemnet.training.order import group_by_pair, less_blurred

if TYPE_CHECKING:
    import torch

WITHOUT_EFFECT = {
    "workers", "checkpoint_steps", "checkpoint_minutes", "time_limit_minutes", "rendezvous",
    "rendezvous_minutes",
}  # fmt: skip
"""Parameters that change how long a training takes, and nothing else."""
ENVIRONMENT = {
    "device", "threads", "deterministic", "compile", "accumulate", "checkpoint_iterations",
    "processes", "nodes",
}  # fmt: skip
"""Parameters that say where and how it is computed: in exact arithmetic they change nothing, so a
checkpoint is resumed with others; in floating point the last bits differ."""

STARTED = psutil.Process().create_time()


@dataclass(frozen=True)
class TrainingJob:
    """What to train, on what, and where it is kept; can be sent to other processes."""

    task: str
    parameters: TrainParameters
    patches: Patches
    checkpoints: CheckpointStore
    tracker: Tracker
    joins: bool = False
    """Whether another node owns the folder, and saves the checkpoints."""
    started: float = STARTED
    """When the command was started; sent along to other processes."""

    @cached_property
    def device(self) -> str:
        from idemnet.system.device import choose_device  # noqa: PLC0415  # torch takes seconds

        return choose_device(self.parameters.device)

    @cached_property
    def dtype(self) -> "torch.dtype":
        """What mixed precision computes in; float32 where it is off."""
        from idemnet.system.device import training_dtype  # noqa: PLC0415

        return training_dtype(self.parameters.mixed_precision, self.device)

    @property
    def precision(self) -> str:
        """Return its name, for cards and records."""
        return str(self.dtype).removeprefix("torch.")

    @property
    def threads(self) -> int:
        """CPU threads of one process."""
        return self.parameters.threads or max(1, cores() // self.parameters.processes)

    @property
    def deadline(self) -> float:
        """When to save and stop, in seconds since the epoch."""
        minutes = self.parameters.time_limit_minutes
        return math.inf if minutes is None else self.started + 60 * minutes

    @cached_property
    def initial(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Weights to start from, and their card; both empty where there are none."""
        name = self.parameters.initialize_from
        return ({}, {}) if name is None else self.checkpoints.initial_weights(name, self.task)

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """What decides the result in exact arithmetic, except for the code (versions.TRAIN)."""
        _, card = self.initial
        return {
            "train": self.parameters.model_dump(mode="json", exclude=WITHOUT_EFFECT | ENVIRONMENT),
            "data": self.patches.fingerprint,
            "initial": {"weights": card["sha256"]} if card else {},
        }

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What else decides its bits: where and how it is computed."""
        import torch  # noqa: PLC0415

        asked = self.parameters.model_dump(mode="json", include=ENVIRONMENT)
        return asked | {
            "device": self.device,
            "threads": self.threads,
            "precision": self.precision,
            "torch": version("torch"),
            "cpu": torch.backends.cpu.get_cpu_capability(),
        }

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint("train", versions.TRAIN, *self.made_from.values())

    def save_checkpoint(self, step: int, state: Mapping[str, Any]) -> None:
        about = {"made_from": self.made_from, "environment": self.environment}
        self.checkpoints.save(self.fingerprint, step, {**state, **about})

    def environment_changes(self, checkpoint: Mapping[str, Any]) -> str:
        """Describe in what the environment differs from the one that saved a checkpoint."""
        before = checkpoint["environment"]
        return ", ".join(
            f"{key} {before.get(key)} -> {value}"
            for key, value in self.environment.items()
            if before.get(key) != value
        )

    def load_checkpoint(self) -> dict[str, Any] | None:
        """Load this training's newest whole checkpoint, or None where there was never one.

        Raises:
            BadInputError: If it is another training's, saying in what they differ.
        """
        checkpoint = self.checkpoints.load(self.fingerprint)
        if checkpoint and checkpoint["made_from"] != self.made_from:
            theirs, ours = (dict(flatten(one)) for one in (checkpoint["made_from"], self.made_from))
            differences = [
                f"{key} = {theirs.get(key)!r} there, {ours.get(key)!r} here"
                for key in sorted(theirs.keys() | ours.keys())
                if theirs.get(key) != ours.get(key)
            ]
            raise BadInputError(
                f"the checkpoint in {self.fingerprint[:16]} is of another training: "
                f"{'; '.join(differences)}"
            )
        return checkpoint

    def is_finished(self) -> bool:
        checkpoint = self.load_checkpoint()
        return checkpoint is not None and bool(checkpoint["step"] == self.steps)

    @cached_property
    def pairs(self) -> int:
        return len(group_by_pair(self.patches.splits["train"]))

    @property
    def steps_per_epoch(self) -> int:
        return self.pairs // self.parameters.batch_size

    @property
    def steps(self) -> int:
        return self.parameters.epochs * self.steps_per_epoch

    def check(self) -> None:
        """Refuse what cannot be trained, before the first step.

        Raises:
            BadInputError: Saying why.
        """
        if self.steps_per_epoch == 0:
            raise BadInputError(
                f"batch_size = {self.parameters.batch_size} is more than the {self.pairs} pairs"
            )
        if self.parameters.temporal_supervision and not any(
            less_blurred(self.patches.splits["train"])
        ):
            raise BadInputError("temporal_supervision needs several levels of blur of an image")
        if self.parameters.crop > self.patches.size:
            raise BadInputError(
                f"crop = {self.parameters.crop} must not exceed the patches' {self.patches.size}"
            )

    def build_model(self) -> "torch.nn.Module":
        """Build the network with the weights that the seed gives."""
        import torch  # noqa: PLC0415

        from idemnet.models import build_network  # noqa: PLC0415

        torch.manual_seed(self.parameters.seed)
        # Networks that cannot do it need not know of it.
        wanted = {"checkpoint_iterations": True} if self.parameters.checkpoint_iterations else {}
        arguments = {**self.parameters.network_arguments, **wanted}
        return build_network(self.parameters.model, arguments)
