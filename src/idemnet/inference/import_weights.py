"""Weights that others released as pickled state dicts: read as tensors and nothing else."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import idemnet
from idemnet.errors import BadInputError
from idemnet.inference.weights import CARD, HISTORY, WEIGHTS, TrainedModel, write_weights
from idemnet.models.cost import count_parameters
from idemnet.models.dmphn import DMPHN, released_names
from idemnet.storage.atomic import shown, some
from idemnet.storage.tensors import load_tensors


def import_dmphn(folder: Path, output: Path, *, stack: int | None = None, width: int = 32) -> None:
    """Turn DMPHN's released files into weights.safetensors and a card.

    Args:
        folder: Holds encoder_lvK.pkl and decoder_lvK.pkl, or encoder_sS_lvK.pkl and so on.
        output: The folder to write, which must not be there, or hold weights that are replaced.
        stack: How many stacks to read; by default as many as there are files for.
        width: Of the network; the released ones have 32.

    Raises:
        BadInputError: If a file or a tensor is missing, too much or of another shape, a file is no
            state dict, or the output holds anything else.
    """
    _refuse_to_replace_others(output)
    arguments: dict[str, Any] = {"stack": stack or _count_stacks(folder), "width": width}
    model = DMPHN(**arguments)
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
        "arguments": {**arguments, "downscale": 1, "residual_scale": None},
        "parameters": count_parameters(model),
        "source": f"imported from {folder.resolve().name}",
        "training": {},
        "epoch": None,
        "validation": {},
        "fingerprint": digest.hexdigest(),
        "idemnet": idemnet.__version__,
    }
    write_weights(output, TrainedModel(weights, card, []))


def _refuse_to_replace_others(output: Path) -> None:
    there = {path.name for path in output.iterdir()} if output.exists() else set()
    if others := sorted(there - {WEIGHTS, CARD, HISTORY}):
        raise BadInputError(f"{shown(output)}: holds {some(others)}, so it is not replaced")


def _count_stacks(folder: Path) -> int:
    found = [re.fullmatch(r"encoder_s(\d+)_lv1\.pkl", path.name) for path in folder.glob("*.pkl")]
    return max((int(match[1]) for match in found if match), default=1)


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise BadInputError(f"{shown(path)}: not found")
    return path.read_bytes()


def _load(data: bytes, path: Path) -> Mapping[str, Tensor]:
    state = load_tensors(data, path)
    if not isinstance(state, Mapping):
        raise BadInputError(f"{shown(path)}: holds no state dict but a {type(state).__name__}")
    return state


def _rename(
    found: Mapping[str, Tensor],
    names: Mapping[str, str],
    shapes: Mapping[str, torch.Size],
    path: Path,
) -> dict[str, Tensor]:
    for name in names:
        if name not in found:
            raise BadInputError(f"{shown(path)}: {name} is missing")
    for name, tensor in found.items():
        if name not in names:
            raise BadInputError(f"{shown(path)}: {name} is unexpected")
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            raise BadInputError(f"{shown(path)}: {name} is not a tensor of floating-point numbers")
        expected = shapes[names[name]]
        if tensor.shape != expected:
            raise BadInputError(
                f"{shown(path)}: {name} is {tuple(tensor.shape)} instead of {tuple(expected)}"
            )
        if not tensor.isfinite().all():
            raise BadInputError(f"{shown(path)}: {name} is not finite")
    return {names[name]: tensor.detach().float().contiguous() for name, tensor in found.items()}
