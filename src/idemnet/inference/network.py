"""A network with its weights, described: it can be sent to another process and is built there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from torch import Tensor, nn

from idemnet.errors import BadInputError
from idemnet.inference.weights import TrainedModel
from idemnet.models import MODELS, check_weights
from idemnet.parameters.network import NetworkParameters


@dataclass(frozen=True)
class Network:
    """Which network it is, what it was built with, and its weights."""

    architecture: str
    arguments: Mapping[str, Any]
    weights: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, trained: TrainedModel) -> Self:
        """Take what a card says, where a network can be built so.

        Raises:
            BadInputError: If not; cards come with weights, from anywhere.
        """
        architecture, arguments = (trained.card.get(name) for name in ("architecture", "arguments"))
        try:
            known = NetworkParameters.model_validate({architecture: arguments}).model_dump()
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))
            raise BadInputError(f"the weights' card: {place}: {fault['msg']}") from None
        weights = {name: _floats(name, tensor) for name, tensor in trained.weights.items()}
        return cls(str(architecture), known[str(architecture)], weights)

    def build(self, device: str) -> nn.Module:
        """Build it, ready to restore."""
        tensors = {name: torch.from_numpy(values) for name, values in self.weights.items()}
        with torch.device("meta"):  # takes no memory, however large a network a card speaks of
            check_weights(MODELS[self.architecture](**self.arguments), tensors, "weights")
        model = MODELS[self.architecture](**self.arguments)
        model.load_state_dict(tensors)
        return model.to(device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload, no-any-return]


def _floats(name: str, tensor: Tensor) -> NDArray[Any]:
    if not tensor.is_floating_point():
        raise BadInputError(f"weights: {name} holds {tensor.dtype}, not floating-point numbers")
    return tensor.float().numpy()
