"""Trained weights as the bytes of their files: what a folder, a server or a download holds."""

import hashlib
import json
from typing import Any

from safetensors.torch import save

from idemnet.recipes import TrainedModel

WEIGHTS, CARD, HISTORY = "weights.safetensors", "card.json", "history.json"


def pack(trained: TrainedModel) -> dict[str, bytes]:
    """Give every file's bytes; the card gets the sha256 of the weights."""
    tensors = {name: tensor.contiguous() for name, tensor in sorted(trained.weights.items())}
    weights = save(tensors, metadata={"format": "pt"})
    card = {**trained.card, "sha256": hashlib.sha256(weights).hexdigest()}
    return {WEIGHTS: weights, CARD: _json(card), HISTORY: _json(trained.history)}


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
