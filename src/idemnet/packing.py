"""Trained weights as the bytes of their files: what a folder, a server or a download holds.

Importing this, and handling weights that are only passed on, does not import torch.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from idemnet.recipes import TrainedModel

if TYPE_CHECKING:
    from torch import Tensor

WEIGHTS, CARD, HISTORY = "weights.safetensors", "card.json", "history.json"


@dataclass(frozen=True, eq=False)
class PackedWeights(Mapping[str, "Tensor"]):
    """Tensors by name, decoded when one of them is asked for."""

    content: bytes
    """Of a weights.safetensors."""

    @cached_property
    def _tensors(self) -> dict[str, "Tensor"]:
        from safetensors.torch import load  # noqa: PLC0415  # torch takes seconds

        return load(self.content)

    def __getitem__(self, name: str) -> "Tensor":
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def pack(trained: TrainedModel) -> dict[str, bytes]:
    """Return every file's bytes; the card gets the sha256 of the weights."""
    weights = serialise(trained.weights)
    card = {**trained.card, "sha256": hashlib.sha256(weights).hexdigest()}
    return {WEIGHTS: weights, CARD: _json(card), HISTORY: _json(trained.history)}


def serialise(weights: Mapping[str, "Tensor"]) -> bytes:
    """Return the bytes of weights.safetensors; the same tensors give the same bytes."""
    if isinstance(weights, PackedWeights):
        return weights.content
    from safetensors.torch import save  # noqa: PLC0415

    tensors = {name: tensor.contiguous() for name, tensor in sorted(weights.items())}
    return save(tensors, metadata={"format": "pt"})


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()
