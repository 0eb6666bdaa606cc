"""Picklable description of a network and its weights, which workers build."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from torch import nn

from idemnet.errors import BadInputError
from idemnet.inference.receptive_field import measure_overlap, remember_overlap
from idemnet.inference.weights import TrainedModel
from idemnet.models import MODELS, build_network, check_weights
from idemnet.parameters.network import NetworkParameters
from idemnet.parameters.train import OWN_NETWORK

LARGEST_OVERLAP = 1024
"""Pixels: tiles are larger than their overlap, and must fit into memory."""


@dataclass(frozen=True)
class Network:
    """Architecture, arguments and weights of a network."""

    architecture: str
    arguments: Mapping[str, Any]
    weights: Mapping[str, NDArray[Any]]
    tile_overlap: int | None = None
    """Measured when the weights were written; None on cards of earlier versions."""

    @classmethod
    def of(cls, trained: TrainedModel, trusted: str | None = None) -> Self:
        """Read the description from a card and check that it can be built.

        Args:
            trained: Weights and their card.
            trusted: The external network, `package.module:Class`, that may be imported if the card
                names it: cards are untrusted, and must not choose what code runs.

        Raises:
            BadInputError: If it cannot be built.
        """
        architecture, arguments = (trained.card.get(name) for name in ("architecture", "arguments"))
        overlap = _overlap(trained.card)
        if architecture not in MODELS and isinstance(arguments, Mapping) and trusted is not None:
            if architecture != trusted:
                raise BadInputError(
                    f"the weights are for network '{architecture}', not '{trusted}'"
                )
            return cls(trusted, arguments, _floats(trained), overlap)
        if re.fullmatch(OWN_NETWORK, str(architecture)):
            raise BadInputError(
                f"the weights are for {architecture}, which is not part of idemnet: if you trust "
                f"its code, use --network {architecture}"
            )
        try:
            known = NetworkParameters.model_validate({architecture: arguments}).model_dump()
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))
            raise BadInputError(f"the weights' card: {place}: {fault['msg']}") from None
        return cls(str(architecture), known[str(architecture)], _floats(trained), overlap)

    @classmethod
    def of_project(cls, trained: TrainedModel) -> Self:
        """Trust the network of weights trained in this project, which its configuration names."""
        own = str(trained.card.get("architecture"))
        return cls.of(trained, trusted=own if ":" in own else None)

    def build(self, device: str) -> nn.Module:
        """Build the network in evaluation mode."""
        tensors = {name: torch.from_numpy(values) for name, values in self.weights.items()}
        with torch.device("meta"):  # allocates no memory, however large the card's network
            check_weights(build_network(self.architecture, self.arguments), tensors, "weights")
        model = build_network(self.architecture, self.arguments)
        model.load_state_dict(tensors)
        if self.tile_overlap is not None:
            remember_overlap(model, self.tile_overlap)
        return model.to(device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload, no-any-return]


def with_tile_overlap(trained: TrainedModel, device: str = "cpu") -> TrainedModel:
    """Measure the tile overlap of a project's own weights and add it to their card."""
    model = Network.of_project(trained).build(device)
    return replace(trained, card={**trained.card, "tile_overlap": measure_overlap(model, device)})


def _overlap(card: Mapping[str, Any]) -> int | None:
    overlap = card.get("tile_overlap")
    if overlap is None or (type(overlap) is int and 0 <= overlap <= LARGEST_OVERLAP):
        return overlap
    raise BadInputError(
        f"the weights' card: tile_overlap: expected an integer from 0 to {LARGEST_OVERLAP}, "
        f"found {overlap!r:.40}"
    )


def _floats(trained: TrainedModel) -> dict[str, NDArray[Any]]:
    for name, tensor in trained.weights.items():
        if not tensor.is_floating_point():
            raise BadInputError(f"weights: {name} holds {tensor.dtype}, not floating-point numbers")
    return {name: tensor.float().numpy() for name, tensor in trained.weights.items()}
