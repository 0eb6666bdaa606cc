"""06_models: trained weights as safetensors, with a card that says what they are."""

import hashlib
import json
import logging
import shutil
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, deserialize

from idemnet.datasets.files import shown, some, write_whole
from idemnet.datasets.folder import DatasetFolder
from idemnet.datasets.published import move_into_place, remove_leftovers
from idemnet.errors import BadInputError
from idemnet.packing import CARD, HISTORY, WEIGHTS, PackedWeights, pack
from idemnet.recipes import TrainedModel

logger = logging.getLogger(__name__)


class WeightsDataset(DatasetFolder):
    """What `train` publishes: weights.safetensors, card.json and history.json, together."""

    def load(self) -> TrainedModel:
        try:
            weights, card = read_weights(self._folder / WEIGHTS)
            history = _read_history(self._folder / HISTORY)
        except BadInputError as error:
            remedy = f"; make it again with: {self._made_by}" if self._made_by else ""
            raise BadInputError(f"{error}{remedy}") from error
        return TrainedModel(weights, card, history)

    def save(self, data: TrainedModel) -> None:
        write_weights(self._folder, data)

    def _exists(self) -> bool:
        return (self._folder / CARD).is_file()


def write_weights(folder: Path, trained: TrainedModel) -> None:
    """Publish weights, card and history together, in place of the folder that was there."""
    files = pack(trained)
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    changed = [name for name, content in files.items() if _read(folder / name) != content]
    if not changed:
        logger.info("%s: unchanged, nothing to do", shown(folder))
        return
    if _training_of(folder, trained) == trained.card.get("fingerprint"):
        logger.warning(
            "%s: missing or changed: %s; making the folder again", shown(folder), some(changed)
        )
    staging = folder.with_name(f".{folder.name}.new")
    staging.mkdir()
    try:
        for name, content in files.items():
            write_whole(staging / name, [content])
        move_into_place(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _training_of(folder: Path, trained: TrainedModel) -> Any:
    """Return the fingerprint of the training that a folder is of; without a readable card, ours."""
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


def _read_history(path: Path) -> list[dict[str, float]]:
    try:
        history: list[dict[str, float]] = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise BadInputError(f"{shown(path)}: missing or damaged") from None
    return history


def read_weights(path: Path) -> tuple[PackedWeights, dict[str, Any]]:
    """Read weights and the card beside them.

    Raises:
        BadInputError: If one is missing, or the weights are not those the card was written for.
    """
    card_path = path.with_name(CARD)
    for needed in (path, card_path):
        if not needed.is_file():
            raise BadInputError(f"{shown(needed)}: not found")
    try:
        card: dict[str, Any] = json.loads(card_path.read_bytes())
        expected = card["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadInputError(f"{shown(card_path)}: is not a card of weights") from None
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise BadInputError(
            f"{shown(path)}: its sha256 is {found}, but its card was written for {expected}"
        )
    try:
        deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise BadInputError(f"{shown(path)}: is not a safetensors file ({error})") from error
    return PackedWeights(data), card
