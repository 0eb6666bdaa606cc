"""Images of any height and width are restored at that size, finite, and padding alters no pixel."""

import pytest
import torch
from torch import nn

from idemnet.models import build_network
from idemnet.models.padding import pad_to_multiple

from ..models.test_idempotent import SWITCHES, images, small

NETWORKS = {
    "idempotent": {"width": 2, "iterations": 2},
    "idempotent in squares": {"width": 2, "iterations": 1, "downscale": 4},
    "idempotent with gated blocks": {"width": 2, "iterations": 1, "block": "gated"},
    "dmphn": {"width": 2},
    "mtrnn": {"width": 2, "iterations": 1},
    "unet": {"width": 2},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_size_up_to_17_comes_back_as_it_went_in(name):
    torch.manual_seed(0)
    network = build_network(name.split()[0], NETWORKS[name]).eval()
    with torch.inference_mode():
        for height in range(1, 18):
            for width in range(1, 18):
                restored = network(images(height, width, 1))
                assert restored.shape == (1, 3, height, width)
                assert restored.isfinite().all()


def test_a_film_s_odd_frame_comes_back_as_it_went_in():
    with torch.inference_mode():
        restored = small(2, 1)(images(719, 1281, 1))
    assert restored.shape == (1, 3, 719, 1281)
    assert restored.isfinite().all()


@pytest.mark.parametrize("switches", SWITCHES)
def test_multiples_of_four_are_restored_as_without_padding(switches):
    features, code = switches
    network = small(2, 2, feature_recurrence=features, code_recurrence=code)
    with torch.inference_mode():
        for height in (4, 8, 12, 16):
            for width in (4, 8, 12, 16):
                image = images(height, width, 1)
                current, memory = network._step(image, None)
                current, memory = network._step(current, memory)
                assert torch.equal(network(image), current)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 301), (255, 3), (197, 331)])
def test_odd_sizes_are_padded_by_reflection_and_cropped(height, width):
    network, image = small(), images(height, width, 1)
    rows, columns = -height % 4, -width % 4
    by_hand = image
    for axis, missing in ((2, rows), (3, columns)):
        mode = "reflect" if missing < by_hand.shape[axis] else "replicate"
        amount = (0, 0, 0, missing) if axis == 2 else (0, missing, 0, 0)
        by_hand = nn.functional.pad(by_hand, amount, mode=mode)
    with torch.no_grad():
        assert torch.equal(network(image), network(by_hand)[..., :height, :width])


@pytest.mark.parametrize("multiple", [4, 8])
def test_padding_leaves_exact_multiples_alone(multiple):
    image = images(16, 24)
    assert torch.equal(pad_to_multiple(image, multiple), image)
