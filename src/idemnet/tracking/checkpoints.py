"""Checkpoints of a training: written atomically, the last two kept, never executed.

A file's name contains its sha256, so that one rename publishes both.
"""

import hashlib
import io
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idemnet.errors import BadInputError
from idemnet.inference.find_weights import find_starter, find_weights
from idemnet.inference.weights import PackedWeights, read_weights
from idemnet.parameters.train import STARTER
from idemnet.storage.atomic import display_path, write_atomic

logger = logging.getLogger(__name__)

KEPT = 2


@dataclass(frozen=True)
class Checkpoints:
    """Checkpoints of one data set's trainings, each in a subfolder named by its fingerprint."""

    folder: Path

    def save(self, fingerprint: str, step: int, state: Mapping[str, Any]) -> None:
        """Publish a checkpoint, then remove all but the last two."""
        import torch  # noqa: PLC0415  # takes seconds, also where nothing is to be trained

        place = self._place(fingerprint)
        place.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        torch.save(dict(state), buffer)
        data = buffer.getbuffer()
        digest = hashlib.sha256(data).hexdigest()
        path = place / f"{step:09d}-{digest}.pt"
        write_atomic(path, [bytes(data)])
        files = self._files(fingerprint)
        # Files of this step or later are corrupt ones: otherwise training would have resumed there.
        earlier = [file for file in files if file.name < f"{step:09d}"]
        for file in set(files) - {path, *earlier[: KEPT - 1]}:
            file.unlink()

    def load(self, fingerprint: str) -> dict[str, Any] | None:
        """Load the newest intact checkpoint, or None if there was never one.

        Raises:
            BadInputError: If there are checkpoints but none is intact: silently starting over would
                hide the loss.
        """
        place = self._place(fingerprint)
        for stray in place.glob(".*.tmp"):  # left by a process that was killed while writing
            stray.unlink()
        files = self._files(fingerprint)
        for file in files:
            try:
                return _read(file)
            except BadInputError as error:
                logger.warning("%s; using the previous one", error)
        if files:
            raise BadInputError(
                f"{display_path(place)}: no checkpoint is intact, remove them to start over"
            )
        return None

    def initial_weights(self, name: str, task: str) -> tuple[PackedWeights, dict[str, Any]]:
        """Read initial weights with their card."""
        return read_weights(find_starter(task) if name == STARTER else find_weights(name))

    def _place(self, fingerprint: str) -> Path:
        return self.folder / fingerprint[:16]

    def _files(self, fingerprint: str) -> list[Path]:
        return sorted(self._place(fingerprint).glob("*-*.pt"), reverse=True)


def _read(file: Path) -> dict[str, Any]:
    from idemnet.storage.tensors import load_tensors  # noqa: PLC0415

    data = file.read_bytes()
    if hashlib.sha256(data).hexdigest() != file.stem.partition("-")[2]:
        raise BadInputError(f"{display_path(file)}: is corrupt, its sha256 does not match its name")
    state = load_tensors(data, file)
    if not isinstance(state, dict):
        raise BadInputError(f"{display_path(file)}: is not a checkpoint")
    return state
