"""A network with its weights, described: it can be sent to another process and is built there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from numpy.typing import NDArray
from torch import nn

from idemnet.models import MODELS, load_weights
from idemnet.recipes import TrainedModel


@dataclass(frozen=True)
class Network:
    """Which network it is, what it was built with, and its weights."""

    architecture: str
    arguments: Mapping[str, Any]
    weights: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, trained: TrainedModel) -> Self:
        weights = {name: tensor.numpy() for name, tensor in trained.weights.items()}
        return cls(trained.card["architecture"], trained.card["arguments"], weights)

    def build(self, device: str) -> nn.Module:
        """Build it, ready to restore."""
        model = MODELS[self.architecture](**self.arguments)
        tensors = {name: torch.from_numpy(values) for name, values in self.weights.items()}
        load_weights(model, tensors, "weights")
        return model.to(device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload, no-any-return]
