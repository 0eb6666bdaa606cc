"""Trained weights as the bytes of their files: what a folder, a server or a download holds."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from safetensors.torch import save
from torch import Tensor

from idemnet.recipes import TrainedModel

WEIGHTS, CARD, HISTORY = "weights.safetensors", "card.json", "history.json"


def pack(trained: TrainedModel) -> dict[str, bytes]:
    """Give every file's bytes; the card gets the sha256 of the weights."""
    weights = serialise(trained.weights)
    card = {**trained.card, "sha256": hashlib.sha256(weights).hexdigest()}
    return {WEIGHTS: weights, CARD: _json(card), HISTORY: _json(trained.history)}


def serialise(weights: Mapping[str, Tensor]) -> bytes:
    """Give the bytes of weights.safetensors; the same tensors give the same bytes."""
    tensors = {name: tensor.contiguous() for name, tensor in sorted(weights.items())}
    return save(tensors, metadata={"format": "pt"})


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
