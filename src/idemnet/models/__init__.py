"""Restoration networks, one file each; they know nothing of training."""

from collections.abc import Mapping

from torch import Tensor, nn

from idemnet.errors import BadInputError
from idemnet.models.dmphn import DMPHN
from idemnet.models.idempotent import IdempotentNet
from idemnet.models.mtrnn import MTRNN

MODELS: Mapping[str, type[nn.Module]] = {
    "idempotent": IdempotentNet,
    "dmphn": DMPHN,
    "mtrnn": MTRNN,
}


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Put weights into a network.

    Raises:
        BadInputError: If they are not exactly the network's.
    """
    check_weights(model, weights, where)
    model.load_state_dict(dict(weights))


def check_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """See that weights are exactly the network's.

    Raises:
        BadInputError: If not; says which are missing, too much, or of another shape.
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
