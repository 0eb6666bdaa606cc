"""Import released weights, pickled state dicts that are read as tensors only."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import idemnet
from idemnet.errors import BadInputError
from idemnet.inference.network import with_tile_overlap
from idemnet.inference.weights import CARD, HISTORY, WEIGHTS, TrainedModel, write_weights
from idemnet.models import build_network, check_weights
from idemnet.models.cost import count_parameters
from idemnet.models.dmphn import released_names
from idemnet.parameters.network import DMPHNParameters
from idemnet.storage.atomic import display_path, shorten
from idemnet.storage.tensors import load_tensors


def import_dmphn(folder: Path, output: Path, *, stack: int | None = None, width: int = 32) -> None:
    """Convert DMPHN's released files to weights.safetensors and a card.

    Args:
        folder: Folder with encoder_lvK.pkl and decoder_lvK.pkl, or encoder_sS_lvK.pkl etc.
        output: Folder to write; must not exist, or contain only weights to replace.
        stack: Number of stacks to read; by default all that have files.
        width: Width of the network; the released ones have 32.

    Raises:
        BadInputError: If a file or tensor is missing, unexpected or of another shape, a file is not
            a state dict, or the output contains anything else.
    """
    _check_replaceable(output)
    arguments: dict[str, Any] = {"stack": stack or _count_stacks(folder), "width": width}
    model = build_network("dmphn", arguments)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    weights: dict[str, Tensor] = {}
    digest = hashlib.sha256()
    for file, names in released_names(arguments["stack"]).items():
        data = _read(folder / file)
        digest.update(data)
        weights |= _rename(_load(data, folder / file), names, shapes, folder / file)
    arguments = DMPHNParameters(**arguments).model_dump()
    card = _describe("dmphn", arguments, model, folder, digest.hexdigest())
    write_weights(output, with_tile_overlap(TrainedModel(weights, card, [])))


def import_network(
    model: str, file: Path, output: Path, arguments: Mapping[str, Any] | None = None
) -> None:
    """Convert a released state dict to weights.safetensors and a card.

    Args:
        model: The network, `package.module:Class`, whose code is imported.
        file: The released file: a state dict, or a dict that holds one as `params` or `state_dict`.
            A prefix `module.` of all names is removed.
        output: Folder to write; must not exist, or contain only weights to replace.
        arguments: Arguments of the class.

    Raises:
        BadInputError: If the class cannot be built, the file is not a state dict or does not fit
            it, or the output contains anything else.
    """
    _check_replaceable(output)
    network = build_network(model, arguments or {})
    data = _read(file)
    state = _unwrap(_load(data, file))
    weights = {name: _to_float(name, tensor, file) for name, tensor in state.items()}
    check_weights(network, weights, display_path(file))
    card = _describe(model, dict(arguments or {}), network, file, hashlib.sha256(data).hexdigest())
    write_weights(output, with_tile_overlap(TrainedModel(weights, card, [])))


def _unwrap(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the state dict inside a checkpoint, without the prefix of DataParallel."""
    for name in ("params", "state_dict"):
        if isinstance(state.get(name), Mapping):
            state = state[name]
    if all(name.startswith("module.") for name in state):
        state = {name.removeprefix("module."): value for name, value in state.items()}
    return state


def _describe(
    architecture: str, arguments: dict[str, Any], model: nn.Module, source: Path, fingerprint: str
) -> dict[str, Any]:
    """Return the card of imported weights."""
    return {
        "task": "deblur",
        "architecture": architecture,
        "arguments": arguments,
        "parameters": count_parameters(model),
        "source": f"imported from {source.resolve().name}",
        "training": {},
        "epoch": None,
        "validation": {},
        "fingerprint": fingerprint,
        "idemnet": idemnet.__version__,
    }


def _check_replaceable(output: Path) -> None:
    there = {path.name for path in output.iterdir()} if output.exists() else set()
    if others := sorted(there - {WEIGHTS, CARD, HISTORY}):
        raise BadInputError(
            f"{display_path(output)}: not replaced, because it also contains {shorten(others)}"
        )


def _count_stacks(folder: Path) -> int:
    found = [re.fullmatch(r"encoder_s(\d+)_lv1\.pkl", path.name) for path in folder.glob("*.pkl")]
    return max((int(match[1]) for match in found if match), default=1)


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise BadInputError(f"{display_path(path)}: not found")
    return path.read_bytes()


def _load(data: bytes, path: Path) -> Mapping[str, Tensor]:
    state = load_tensors(data, path)
    if not isinstance(state, Mapping):
        raise BadInputError(
            f"{display_path(path)}: expected a state dict, found a {type(state).__name__}"
        )
    return state


def _rename(
    found: Mapping[str, Tensor],
    names: Mapping[str, str],
    shapes: Mapping[str, torch.Size],
    path: Path,
) -> dict[str, Tensor]:
    for name in names:
        if name not in found:
            raise BadInputError(f"{display_path(path)}: {name} is missing")
    converted = {}
    for name, tensor in found.items():
        if name not in names:
            raise BadInputError(f"{display_path(path)}: {name} is unexpected")
        converted[names[name]] = _to_float(name, tensor, path)
        expected = shapes[names[name]]
        if tensor.shape != expected:
            raise BadInputError(
                f"{display_path(path)}: {name} has shape {tuple(tensor.shape)}, "
                f"not {tuple(expected)}"
            )
    return converted


def _to_float(name: str, tensor: object, path: Path) -> Tensor:
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        raise BadInputError(
            f"{display_path(path)}: {name} is not a tensor of floating-point numbers"
        )
    if not tensor.isfinite().all():
        raise BadInputError(f"{display_path(path)}: {name} has non-finite values")
    return tensor.detach().float().contiguous()
