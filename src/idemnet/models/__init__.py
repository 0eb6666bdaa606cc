"""Restoration networks, one file each, independent of training."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from pydantic import ValidationError
from torch import Tensor, nn

from idemnet.errors import BadInputError
from idemnet.models.dmphn import DMPHN
from idemnet.models.idempotent import IdempotentNet
from idemnet.models.mtrnn import MTRNN
from idemnet.models.unet import UNet
from idemnet.parameters.network import NetworkParameters

MODELS: Mapping[str, Callable[[Any], nn.Module]] = {
    "idempotent": IdempotentNet,
    "dmphn": DMPHN,
    "mtrnn": MTRNN,
    "unet": UNet,
}


def build_network(name: str, arguments: Mapping[str, Any]) -> nn.Module:
    """Build a network: one of MODELS, or an external one, `package.module:Class`.

    Raises:
        BadInputError: If it is not found, not a torch module, or takes other arguments.
    """
    try:
        if name in MODELS:
            groups = NetworkParameters.model_validate({name: arguments})
            return MODELS[name](getattr(groups, name))
        return _import_network(name)(**arguments)
    except ValidationError as error:
        [fault, *_] = error.errors()
        place = ".".join(map(str, fault["loc"]))
        raise BadInputError(f"{place} = {fault['input']!r}: {fault['msg']}") from error
    except TypeError as error:
        raise BadInputError(f"model = '{name}': {error}") from error


def _import_network(name: str) -> type[nn.Module]:
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadInputError(f"model = '{name}': {error}") from error
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise BadInputError(f"model = '{name}': is not a torch.nn.Module")
    return found


def iterate(model: nn.Module, image: Tensor) -> list[Tensor]:
    """Return the images after each iteration; just one for networks without iterations."""
    if hasattr(model, "iterate"):
        images: list[Tensor] = model.iterate(image)  # type: ignore[operator]
        return images
    return [model(image)]


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Load weights into a network.

    Raises:
        BadInputError: If they do not fit the network exactly.
    """
    check_weights(model, weights, where)
    model.load_state_dict(dict(weights))


def check_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Check that weights fit a network exactly.

    Raises:
        BadInputError: If not, naming those that are missing, unexpected or of another shape.
    """
    own = model.state_dict()
    faults = [f"{name} is missing" for name in own if name not in weights]
    faults += [f"{name} is unexpected" for name in weights if name not in own]
    faults += [
        f"{name} is {tuple(weights[name].shape)} instead of {tuple(tensor.shape)}"
        for name, tensor in own.items()
        if name in weights and weights[name].shape != tensor.shape
    ]
    if faults:
        more = f" and {len(faults) - 5} more" if len(faults) > 5 else ""
        raise BadInputError(f"{where}: does not fit the network: {'; '.join(faults[:5])}{more}")
