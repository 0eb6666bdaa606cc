"""State of a training, saved in checkpoints."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel


@dataclass
class State:
    """Weights, optimiser, position, and measurements so far."""

    model: nn.Module
    optimiser: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    ema: AveragedModel | None = None
    """Exponential moving average (EMA) of the weights, if enabled."""
    step: int = 0
    """Number of updates."""
    sums: dict[str, float] = field(default_factory=dict)
    """Sums of this epoch's values, for their means."""
    history: list[dict[str, float]] = field(default_factory=list)
    """Means of each epoch, and its validation."""
    best: dict[str, Any] = field(default_factory=dict)
    """The weights with the best validation so far, with their scores."""
    resumed_with: list[str] = field(default_factory=list)
    """Changes of the environment, each with its step."""

    @property
    def result(self) -> nn.Module:
        """Return the network to validate and publish: the EMA if there is one."""
        return self.ema.module if self.ema else self.model

    def to_checkpoint(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "scaler": self.scaler.state_dict(),
            "ema": self.ema.state_dict() if self.ema else None,
            "step": self.step,
            "sums": self.sums,
            "history": self.history,
            "best": self.best,
            "resumed_with": self.resumed_with,
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        self.model.load_state_dict(checkpoint["model"])
        self.optimiser.load_state_dict(checkpoint["optimiser"])
        if checkpoint["scaler"]:  # empty if saved without float16
            self.scaler.load_state_dict(checkpoint["scaler"])
        if self.ema:
            self.ema.load_state_dict(checkpoint["ema"])
        self.step = checkpoint["step"]
        self.sums = checkpoint["sums"]
        self.history = checkpoint["history"]
        self.best = checkpoint["best"]
        self.resumed_with = checkpoint["resumed_with"]

    def note(self, values: dict[str, float]) -> None:
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value

    def end_epoch(self, epoch: int, steps: int) -> dict[str, float]:
        """Close an epoch: return the means of its values and reset the sums."""
        means = {name: total / steps for name, total in self.sums.items()}
        self.sums = {}
        self.history.append({"epoch": epoch, **means})
        return self.history[-1]
