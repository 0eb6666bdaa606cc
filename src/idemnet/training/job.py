"""A training described: everything a process needs to take part in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import torch

from idemnet.errors import BadInputError
from idemnet.machine import cores
from idemnet.models import MODELS
from idemnet.models.device import choose_device
from idemnet.parameters import TrainParameters
from idemnet.recipes import CheckpointStore, Patches, Tracker, fingerprint, flatten
from idemnet.training.order import group_by_pair, less_blurred

VERSION = 2

WITHOUT_EFFECT = {"workers", "checkpoint_steps", "rendezvous"}
"""Parameters that change how long a training takes, and nothing else."""


@dataclass(frozen=True)
class TrainingJob:
    """What to train, on what, and where it is kept; can be sent to other processes."""

    task: str
    parameters: TrainParameters
    patches: Patches
    checkpoints: CheckpointStore
    tracker: Tracker

    @cached_property
    def device(self) -> str:
        return choose_device(self.parameters.device)

    @cached_property
    def threads(self) -> int:
        """CPU threads of one process."""
        return self.parameters.threads or max(1, cores() // self.parameters.processes)

    @cached_property
    def initial(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Weights to start from, and their card; both empty where there are none."""
        name = self.parameters.initialize_from
        return ({}, {}) if name is None else self.checkpoints.initial_weights(name, self.task)

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """What decides the bytes of the result, except for the code (VERSION)."""
        made_on = {"device": self.device, "threads": self.threads, "torch": version("torch")}
        _, card = self.initial
        return {
            "train": self.parameters.model_dump(mode="json", exclude=WITHOUT_EFFECT),
            "data": self.patches.fingerprint,
            "made_on": made_on | ({"initial": card["sha256"]} if card else {}),
        }

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint("train", VERSION, *self.made_from.values())

    def save_checkpoint(self, step: int, state: Mapping[str, Any]) -> None:
        self.checkpoints.save(self.fingerprint, step, {**state, "made_from": self.made_from})

    def load_checkpoint(self) -> dict[str, Any] | None:
        """Load this training's newest whole checkpoint, or None where there was never one.

        Raises:
            BadInputError: If it is another training's, saying in what they differ.
        """
        checkpoint = self.checkpoints.load(self.fingerprint)
        # Older ones do not say it, and were only ever found under their own fingerprint.
        if checkpoint and checkpoint.get("made_from", self.made_from) != self.made_from:
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

    def build_model(self) -> torch.nn.Module:
        """Build the network with the weights that the seed gives."""
        torch.manual_seed(self.parameters.seed)
        # Networks that cannot do it need not know of it.
        wanted = {"checkpoint_iterations": True} if self.parameters.checkpoint_iterations else {}
        return MODELS[self.parameters.model](**self.parameters.arguments, **wanted)
