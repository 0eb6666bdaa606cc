"""Import released weights, pickled state dicts that are read as tensors only."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import idemnet
from idemnet.errors import BadInputError
from idemnet.inference.network import with_tile_overlap
from idemnet.inference.weights import CARD, HISTORY, WEIGHTS, TrainedModel, write_weights
from idemnet.models import build_network
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
    card = {
        "task": "deblur",
        "architecture": "dmphn",
        "arguments": DMPHNParameters(**arguments).model_dump(),
        "parameters": count_parameters(model),
        "source": f"imported from {folder.resolve().name}",
        "training": {},
        "epoch": None,
        "validation": {},
        "fingerprint": digest.hexdigest(),
        "idemnet": idemnet.__version__,
    }
    write_weights(output, with_tile_overlap(TrainedModel(weights, card, [])))


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
    for name, tensor in found.items():
        if name not in names:
            raise BadInputError(f"{display_path(path)}: {name} is unexpected")
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            raise BadInputError(
                f"{display_path(path)}: {name} is not a tensor of floating-point numbers"
            )
        expected = shapes[names[name]]
        if tensor.shape != expected:
            raise BadInputError(
                f"{display_path(path)}: {name} has shape {tuple(tensor.shape)}, "
                f"not {tuple(expected)}"
            )
        if not tensor.isfinite().all():
            raise BadInputError(f"{display_path(path)}: {name} has non-finite values")
    return {names[name]: tensor.detach().float().contiguous() for name, tensor in found.items()}
