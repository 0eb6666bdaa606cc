"""06_models: trained weights as safetensors, with a card that says what they are."""

import hashlib
import json
import logging
import shutil
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from torch import Tensor

from idemnet.datasets.files import shown, write_whole
from idemnet.datasets.folder import DatasetFolder
from idemnet.datasets.published import move_into_place, remove_leftovers
from idemnet.errors import BadInputError
from idemnet.models.packing import CARD, HISTORY, WEIGHTS, pack
from idemnet.recipes import TrainedModel

logger = logging.getLogger(__name__)


class WeightsDataset(DatasetFolder):
    """What `train` publishes: weights.safetensors, card.json and history.json, together."""

    def load(self) -> TrainedModel:
        weights, card = read_weights(self._folder / WEIGHTS)
        history = json.loads((self._folder / HISTORY).read_bytes())
        return TrainedModel(weights, card, history)

    def save(self, data: TrainedModel) -> None:
        write_weights(self._folder, data)

    def _exists(self) -> bool:
        return (self._folder / CARD).is_file()


def write_weights(folder: Path, trained: TrainedModel) -> None:
    """Publish weights, card and history together, in place of the folder that was there."""
    files = pack(trained)
    card = folder / CARD
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    if card.is_file() and card.read_bytes() == files[CARD]:
        logger.info("%s: unchanged, nothing to do", shown(folder))
        return
    staging = folder.with_name(f".{folder.name}.new")
    staging.mkdir()
    try:
        for name, content in files.items():
            write_whole(staging / name, [content])
        move_into_place(staging, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def read_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read weights and the card beside them.

    Raises:
        BadInputError: If one is missing, or the weights are not those the card was written for.
    """
    card_path = path.with_name(CARD)
    for needed in (path, card_path):
        if not needed.is_file():
            raise BadInputError(f"{shown(needed)}: is not there")
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
        return load_tensors(data), card
    except SafetensorError as error:
        raise BadInputError(f"{shown(path)}: is not a safetensors file ({error})") from error
