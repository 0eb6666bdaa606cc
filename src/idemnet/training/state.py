"""What a training is at any step: all of it goes into a checkpoint, and comes back."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


@dataclass
class State:
    """Weights, optimiser, position, and what was measured so far."""

    model: nn.Module
    optimiser: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    mean: AveragedModel | None = None
    """Running mean of the weights, where one is kept."""
    step: int = 0
    """Updates made."""
    sums: dict[str, float] = field(default_factory=dict)
    """Of this epoch's values, for their means."""
    history: list[dict[str, float]] = field(default_factory=list)
    """Means of each epoch, and its validation."""
    best: dict[str, Any] = field(default_factory=dict)
    """The weights with the best validation so far, and its scores."""
    resumed_with: list[str] = field(default_factory=list)
    """Changes of the environment, each with the step from which on it was in force."""

    @property
    def result(self) -> nn.Module:
        """The network as it would be given away now."""
        return self.mean.module if self.mean else self.model

    def to_checkpoint(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "scaler": self.scaler.state_dict(),
            "mean": self.mean.state_dict() if self.mean else None,
            "step": self.step,
            "sums": self.sums,
            "history": self.history,
            "best": self.best,
            "resumed_with": self.resumed_with,
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        self.model.load_state_dict(checkpoint["model"])
        self.optimiser.load_state_dict(checkpoint["optimiser"])
        if checkpoint["scaler"]:  # empty where it was saved without float16
            self.scaler.load_state_dict(checkpoint["scaler"])
        if self.mean:
            self.mean.load_state_dict(checkpoint["mean"])
        self.step = checkpoint["step"]
        self.sums = checkpoint["sums"]
        self.history = checkpoint["history"]
        self.best = checkpoint["best"]
        self.resumed_with = checkpoint["resumed_with"]

    def note(self, values: dict[str, float]) -> None:
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def end_epoch(self, epoch: int, steps: int) -> dict[str, float]:
        """Close an epoch: give the means of its values and forget the sums."""
        means = {name: total / steps for name, total in self.sums.items()}
        self.sums = {}
        self.history.append({"epoch": epoch, **means})
        return self.history[-1]
