"""Inputs of studies that differ from the test images."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import torch

from idemnet.imaging.image import Image, StoredImage
from idemnet.inference.network import Network
from idemnet.inference.weights import TrainedModel
from idemnet.steps import versions
from idemnet.steps.data import Pairs
from idemnet.steps.plan import fingerprint
from idemnet.system.device import to_image, to_tensor


@dataclass(frozen=True)
class ChangedImage:
    """An image that is transformed when it is read."""

    image: StoredImage
    change: Callable[[Image], Image]

    def __call__(self) -> Image:
        return self.change(self.image())

    @property
    def name(self) -> str:
        return self.image.name

    def size(self) -> tuple[int, int]:
        return self.image.size()


@dataclass(frozen=True)
class Restore:
    """Restores images, rounded as in files; builds the network on first use."""

    network: Network

    def __call__(self, image: Image) -> Image:
        with torch.inference_mode():
            return to_image(self._model(to_tensor([image], "cpu"))[0])

    @cached_property
    def _model(self) -> torch.nn.Module:
        return self.network.build("cpu")


def restored_pairs(pairs: Pairs, trained: TrainedModel) -> Pairs:
    """Return the test pairs, with degraded images restored by a network."""
    restored = partial(ChangedImage, change=Restore(Network.of_project(trained)))
    return replace(
        pairs,
        fingerprint=fingerprint(
            "restored", versions.STUDY_INPUTS, pairs.fingerprint, trained.card["sha256"]
        ),
        pairs=[
            replace(pair, degraded=restored(pair.degraded))
            for pair in pairs.pairs
            if pair.split == "test"
        ],
    )


def single_channel_pairs(pairs: Pairs) -> Pairs:
    """Return the pairs as a single-channel camera would see them: three equal luma channels."""
    grey = partial(ChangedImage, change=to_single_channel)
    return replace(
        pairs,
        fingerprint=fingerprint("single channel", versions.STUDY_INPUTS, pairs.fingerprint),
        pairs=[
            replace(pair, degraded=grey(pair.degraded), clean=grey(pair.clean))
            for pair in pairs.pairs
        ],
    )


def to_single_channel(image: Image) -> Image:
    """Return BT.601 luma, repeated in all three channels."""
    brightness = np.rint(image @ np.array([0.299, 0.587, 0.114]))
    return np.repeat(brightness[:, :, np.newaxis].astype(np.uint8), 3, axis=2)


def one_sequence(pairs: Pairs, sequence: str) -> Pairs:
    """Return the test pairs of one sequence, or of one set in a data set of several."""
    return replace(
        pairs,
        fingerprint=fingerprint("sequence", versions.STUDY_INPUTS, pairs.fingerprint, sequence),
        pairs=[pair for pair in pairs.pairs if (pair.split, pair.sequence) == ("test", sequence)],
    )
