"""Trained weights: safetensors, a card that describes them, and their training history.

Does not import torch until a tensor is accessed.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, deserialize

from idemnet.errors import BadInputError
from idemnet.parameters.renamed import with_new_names
from idemnet.storage.atomic import (
    display_path,
    move_into_place,
    remove_leftovers,
    shorten,
    write_atomic,
)

if TYPE_CHECKING:
    from torch import Tensor

logger = logging.getLogger(__name__)

WEIGHTS, CARD, HISTORY = "weights.safetensors", "card.json", "history.json"


@dataclass(frozen=True)
class TrainedModel:
    """A published result of `train`."""

    weights: Mapping[str, Any]
    """Tensors by name."""
    card: Mapping[str, Any]
    """Task, architecture, parameters, data, scores."""
    history: Sequence[Mapping[str, float]]
    """Means of each epoch."""

    @property
    def fingerprint(self) -> str:
        """Identify the weights and their training; other trainings may give the same bytes."""
        return f"{self.card['sha256']} {self.card.get('fingerprint', '')}"


@dataclass(frozen=True, eq=False)
class PackedWeights(Mapping[str, "Tensor"]):
    """Tensors by name, decoded on first access."""

    content: bytes
    """Content of a weights.safetensors."""

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
    """Return the bytes of every file; adds the sha256 of the weights to the card."""
    weights = serialise(trained.weights)
    card = {**trained.card, "sha256": hashlib.sha256(weights).hexdigest()}
    return {WEIGHTS: weights, CARD: to_json(card), HISTORY: to_json(trained.history)}


def serialise(weights: Mapping[str, "Tensor"]) -> bytes:
    """Return the bytes of weights.safetensors; the same tensors give the same bytes."""
    if isinstance(weights, PackedWeights):
        return weights.content
    from safetensors.torch import save  # noqa: PLC0415

    tensors = {name: tensor.contiguous() for name, tensor in sorted(weights.items())}
    return save(tensors, metadata={"format": "pt"})


def to_json(content: Any) -> bytes:
    """Return the bytes of a card or history."""
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def write_weights(folder: Path, trained: TrainedModel) -> None:
    """Publish weights, card and history atomically, replacing an existing folder."""
    files = pack(trained)
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    changed = [name for name, content in files.items() if _read(folder / name) != content]
    if not changed:
        logger.info("%s: unchanged, nothing to do", display_path(folder))
        return
    if _training_of(folder, trained) == trained.card.get("fingerprint"):
        logger.warning(
            "%s: missing or changed: %s; making the folder again",
            display_path(folder),
            shorten(changed),
        )
    staging = folder.with_name(f".{folder.name}.new")
    staging.mkdir()
    try:
        for name, content in files.items():
            write_atomic(staging / name, [content])
        move_into_place(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _training_of(folder: Path, trained: TrainedModel) -> Any:
    """Return the fingerprint of a folder's training; if its card is unreadable, `trained`'s."""
    if not folder.is_dir():
        return None
    try:
        return json.loads((folder / CARD).read_bytes())["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return trained.card.get("fingerprint")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def read_history(path: Path) -> list[dict[str, float]]:
    try:
        history: list[dict[str, float]] = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise BadInputError(f"{display_path(path)}: missing or damaged") from None
    return history


def read_weights(path: Path) -> tuple[PackedWeights, dict[str, Any]]:
    """Read weights and their card.

    Raises:
        BadInputError: If one is missing, or the weights do not match the card's sha256.
    """
    card_path = path.with_name(CARD)
    for needed in (path, card_path):
        if not needed.is_file():
            raise BadInputError(f"{display_path(needed)}: not found")
    try:
        card: dict[str, Any] = json.loads(card_path.read_bytes())
        expected = card["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadInputError(f"{display_path(card_path)}: not a valid card of weights") from None
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise BadInputError(
            f"{display_path(path)}: its sha256 is {found}, but its card was written for {expected}"
        )
    try:
        deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise BadInputError(f"{display_path(path)}: is not a safetensors file ({error})") from error
    # Older cards have old parameter names in these two.
    older = {
        name: with_new_names(card[name])
        for name in ("training", "environment")
        if isinstance(card.get(name), dict)
    }
    return PackedWeights(data), card | older
