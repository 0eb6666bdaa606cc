"""Studies can give networks other images than the data set's, and say so in the fingerprint."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from idemnet.inference.weights import TrainedModel
from idemnet.models import build_network
from idemnet.pipelines.study_inputs import (
    one_sequence,
    restored_pairs,
    single_channel_pairs,
    to_single_channel,
)
from idemnet.steps.data import Pair, Pairs


@dataclass(frozen=True)
class Noise:
    seed: int
    name: str = "noise.png"

    def __call__(self):
        return np.random.default_rng(self.seed).integers(0, 256, (12, 16, 3), np.uint8)

    def size(self):
        return 12, 16


def pair(split: str, sequence: str, seed: int) -> Pair:
    return Pair(split, sequence, "1", 5, 12, 16, Noise(seed), Noise(seed + 100))


PAIRS = Pairs("f" * 64, [pair("train", "a", 1), pair("test", "b", 2), pair("test", "c", 3)], "set")


@pytest.fixture
def trained() -> TrainedModel:
    torch.manual_seed(0)
    arguments = {"width": 4, "iterations": 1}
    model = build_network("idempotent", arguments)
    card = {"architecture": "idempotent", "arguments": arguments, "sha256": "a" * 64}
    return TrainedModel(model.state_dict(), card, [])


def test_restored_images_are_what_the_network_makes_of_them_rounded(trained):
    given = restored_pairs(PAIRS, trained)
    assert [one.sequence for one in given.pairs] == ["b", "c"]
    model = build_network("idempotent", trained.card["arguments"]).eval()
    model.load_state_dict(trained.weights)
    for before, after in zip(PAIRS.pairs[1:], given.pairs, strict=True):
        image = torch.from_numpy(before.degraded()).permute(2, 0, 1)[None].float() / 255
        with torch.no_grad():
            wanted = (model(image)[0].clamp(0, 1) * 255).permute(1, 2, 0).numpy()
        assert after.degraded().dtype == np.uint8
        assert np.abs(after.degraded() - wanted).max() <= 0.51
        assert (after.clean() == before.clean()).all()
        assert after.degraded.size() == (12, 16)


def test_they_can_be_sent_to_another_process(trained):
    given = restored_pairs(PAIRS, trained).pairs[0].degraded
    assert (pickle.loads(pickle.dumps(given))() == given()).all()


def test_one_channel_is_the_brightness_three_times():
    red = np.zeros((2, 2, 3), np.uint8)
    red[:, :, 0] = 255
    assert (to_single_channel(red) == 76).all()  # 0.299 x 255
    grey = np.full((2, 2, 3), 200, np.uint8)
    assert (to_single_channel(grey) == grey).all()
    [first, *_] = single_channel_pairs(PAIRS).pairs
    for image in (first.degraded(), first.clean()):
        assert (image == image[:, :, :1]).all()


def test_a_sequence_is_taken_from_the_test_split():
    assert [one.sequence for one in one_sequence(PAIRS, "c").pairs] == ["c"]
    assert not one_sequence(PAIRS, "a").pairs


def test_each_has_a_fingerprint_of_its_own(trained):
    found = {
        PAIRS.fingerprint,
        restored_pairs(PAIRS, trained).fingerprint,
        single_channel_pairs(PAIRS).fingerprint,
        one_sequence(PAIRS, "b").fingerprint,
        one_sequence(PAIRS, "c").fingerprint,
    }
    assert len(found) == 5
