"""Description of a training: everything that a process needs to join it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import psutil

from idemnet.errors import BadInputError
from idemnet.parameters.renamed import with_new_names, with_old_names
from idemnet.parameters.train import ENVIRONMENT, LOGGED, WITHOUT_EFFECT, TrainParameters
from idemnet.steps import versions
from idemnet.steps.data import Pair, Patches
from idemnet.steps.plan import fingerprint, flatten
from idemnet.steps.services import CheckpointStore, Tracker
from idemnet.system.resources import cores, idle_cores
from idemnet.training.order import group_by_pair, less_blurred, share_epoch
from idemnet.training.world import check_batch, count_processes

if TYPE_CHECKING:
    import torch

STARTED = psutil.Process().create_time()


@dataclass(frozen=True)
class TrainingJob:
    """What to train, the data, and where to save; can be sent to other processes."""

    task: str
    parameters: TrainParameters
    patches: Patches
    checkpoints: CheckpointStore
    tracker: Tracker
    images: tuple[Pair, ...] = ()
    """Whole held-out images to validate on."""
    joins: bool = False
    """Whether another node owns the folder and saves checkpoints."""
    started: float = STARTED
    """Start time of the command, shared with other processes."""

    @cached_property
    def device(self) -> str:
        from idemnet.system.device import choose_device  # noqa: PLC0415  # torch takes seconds

        return choose_device(self.parameters.device)

    @cached_property
    def dtype(self) -> "torch.dtype":
        """Return the dtype of mixed precision; float32 if it is off."""
        from idemnet.system.device import training_dtype  # noqa: PLC0415

        return training_dtype(self.parameters.mixed_precision, self.device)

    @property
    def precision(self) -> str:
        """Return the dtype's name, for cards and records."""
        return str(self.dtype).removeprefix("torch.")

    @cached_property
    def threads(self) -> int:
        """Return the number of CPU threads of one process.

        By default, the checkpoint's if there are cores for it, as other numbers change the last
        bits; else by the cores that are idle now.
        """
        if self.parameters.threads:
            return self.parameters.threads
        checkpoint = self.load_checkpoint()
        before = checkpoint["environment"]["threads"] if checkpoint else math.inf
        if before * self.processes <= cores():
            return int(before)
        return max(1, idle_cores() // self.processes)

    @property
    def processes(self) -> int:
        """Return the number of training processes on each machine."""
        return self._counts[0]

    @property
    def nodes(self) -> int:
        """Return the number of machines."""
        return self._counts[1]

    @cached_property
    def _counts(self) -> tuple[int, int]:
        return count_processes(self.parameters)

    @property
    def deadline(self) -> float:
        """Return the time to save and stop, in seconds since the epoch."""
        minutes = self.parameters.time_limit_minutes
        return math.inf if minutes is None else self.started + 60 * minutes

    @cached_property
    def initial(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the initial weights and their card; both empty if there are none."""
        name = self.parameters.initialize_from
        return ({}, {}) if name is None else self.checkpoints.initial_weights(name, self.task)

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """Return what determines the result in exact arithmetic, except code (versions.TRAIN)."""
        _, card = self.initial
        excluded = WITHOUT_EFFECT | LOGGED | ENVIRONMENT
        return {
            "train": self.parameters.model_dump(mode="json", exclude=excluded),
            "data": self.patches.fingerprint,
            "initial": {"weights": card["sha256"]} if card else {},
        }

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Return the computing environment, which determines the last bits."""
        import torch  # noqa: PLC0415

        asked = self.parameters.model_dump(mode="json", include=ENVIRONMENT)
        return asked | {
            "device": self.device,
            "threads": self.threads,
            "processes": self.processes,
            "nodes": self.nodes,
            "precision": self.precision,
            "torch": version("torch"),
            "cpu": torch.backends.cpu.get_cpu_capability(),
        }

    @cached_property
    def fingerprint(self) -> str:
        made_from = {**self.made_from, "train": with_old_names(self.made_from["train"])}
        return fingerprint("train", versions.TRAIN, *made_from.values())

    def save_checkpoint(self, step: int, state: Mapping[str, Any]) -> None:
        about = {"made_from": self.made_from, "environment": self.environment}
        self.checkpoints.save(self.fingerprint, step, {**state, **about})

    def environment_changes(self, checkpoint: Mapping[str, Any]) -> str:
        """Describe how the environment differs from the one that saved a checkpoint."""
        before = checkpoint["environment"]
        return ", ".join(
            f"{key} {before.get(key)} -> {value}"
            for key, value in self.environment.items()
            if before.get(key) != value
        )

    def load_checkpoint(self) -> dict[str, Any] | None:
        """Load this training's newest intact checkpoint, or None if there are none.

        Raises:
            BadInputError: If it belongs to another training, with the differences.
        """
        checkpoint = self.checkpoints.load(self.fingerprint)
        if checkpoint:
            checkpoint = _from_older_version(checkpoint)
        if checkpoint and checkpoint["made_from"] != self.made_from:
            theirs, ours = (dict(flatten(one)) for one in (checkpoint["made_from"], self.made_from))
            differences = [
                f"{key} = {theirs.get(key)!r} there, {ours.get(key)!r} here"
                for key in sorted(theirs.keys() | ours.keys())
                if theirs.get(key) != ours.get(key)
            ]
            raise BadInputError(
                f"the checkpoint in {self.fingerprint[:16]} belongs to another training: "
                f"{'; '.join(differences)}"
            )
        return checkpoint

    def is_finished(self) -> bool:
        checkpoint = self.load_checkpoint()
        return checkpoint is not None and bool(checkpoint["step"] == self.steps)

    @cached_property
    def draws(self) -> int:
        """Return the samples of an epoch, with those that fill no batch."""
        train = self.patches.splits["train"]
        shares = share_epoch(train, group_by_pair(train), self.patches.weights)
        return sum(share.draws for share in shares)

    @property
    def steps_per_epoch(self) -> int:
        return self.draws // self.parameters.batch_size

    @property
    def steps(self) -> int:
        return self.parameters.epochs * self.steps_per_epoch

    def check(self) -> None:
        """Check that the job can be trained.

        Raises:
            BadInputError: If it cannot.
        """
        check_batch(self.parameters)
        if self.steps_per_epoch == 0:
            raise BadInputError(
                f"batch_size = {self.parameters.batch_size} exceeds the number of pairs, "
                f"{self.draws}"
            )
        if self.parameters.temporal_supervision and not any(
            less_blurred(self.patches.splits["train"])
        ):
            raise BadInputError("temporal_supervision needs several levels of blur for an image")
        if self.parameters.crop > self.patches.size:
            raise BadInputError(
                f"crop = {self.parameters.crop} must not exceed the patches' {self.patches.size}"
            )

    def build_model(self) -> "torch.nn.Module":
        """Build the network, initialised with the seed."""
        import torch  # noqa: PLC0415

        from idemnet.models import build_network  # noqa: PLC0415

        torch.manual_seed(self.parameters.seed)
        network = build_network(self.parameters.model, self.parameters.network_arguments)
        if self.parameters.checkpoint_iterations:
            if not hasattr(network, "checkpoint_iterations"):
                name = self.parameters.model
                raise BadInputError(f"model = '{name}' has no checkpoint_iterations to be true")
            network.checkpoint_iterations = True  # type: ignore[assignment]
        return network


def _from_older_version(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Convert old parameter names in an older checkpoint."""
    made_from, environment = checkpoint["made_from"], checkpoint["environment"]
    return {
        "ema": checkpoint.get("mean"),
        **checkpoint,
        "made_from": {**made_from, "train": with_new_names(made_from["train"])},
        "environment": with_new_names(environment),
    }
