"""The gated U-shape: it starts near the identity, sees a bounded neighbourhood, and is cheap."""

import numpy as np
import pytest
import torch

from idemnet.inference.restore import restore
from idemnet.models.cost import count_macs, count_parameters
from idemnet.models.unet import UNet
from idemnet.parameters.network import UNetParameters
from idemnet.parameters.restore import RestoreParameters


def make(**changes) -> UNet:
    torch.manual_seed(0)
    return UNet(UNetParameters(**changes)).eval()


def learnt(**changes) -> UNet:
    """As if it had learnt something: blocks start as the identity."""
    network = make(residual_scale=0.3, **changes)
    for name, scale in network.named_parameters():
        if name.endswith(("scale1", "scale2")):
            torch.nn.init.normal_(scale, 0, 0.3)
    return network


def random(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1))


def test_it_has_the_cost_that_the_documentation_states():
    network = make()
    assert count_parameters(network) == 2_332_780
    assert count_macs(network, 256, 256) / 1e9 == pytest.approx(1.46, abs=0.01)


def test_it_starts_near_the_identity():
    image = random(2, 3, 40, 56)
    with torch.inference_mode():
        difference = (make()(image) - image).abs()
    assert 0 < difference.max() < 0.05


def test_skips_reach_the_decoder_s_level_of_the_same_size():
    """Zeroing a level of the encoder changes the result; sizes must fit for that to run at all."""
    network, image = learnt(width=4, encoder_blocks=(1, 2, 1)), random(1, 3, 48, 64)
    with torch.inference_mode():
        whole = network(image)
        for level in range(3):
            hook = network.encoder[level].register_forward_hook(lambda *call: 0 * call[2])
            assert not torch.allclose(network(image), whole)
            hook.remove()
        assert torch.equal(network(image), whole)


def test_the_lowest_resolution_is_the_widest():
    network = make(width=4, encoder_blocks=(1, 1), downscale=1)
    seen = []
    network.middle.register_forward_hook(lambda *call: seen.append(call[2].shape))
    network(random(1, 3, 16, 24))
    assert seen == [(1, 16, 4, 6)]


def test_what_is_far_away_does_not_count():
    """Without attention, a pixel depends on a bounded neighbourhood."""
    network, image = learnt(width=4), random(1, 3, 64, 512)
    changed = image.clone()
    changed[..., 384:] = 0
    with torch.inference_mode():
        difference = (network(changed) - network(image)).abs().amax((0, 1, 2))
    assert difference[384:].max() > 0.1
    assert difference[:128].max() == 0


@pytest.mark.parametrize(("height", "width", "tile"), [(299, 411, 331), (289, 419, 191)])
def test_tiles_cannot_be_told_from_the_whole(height, width, tile):
    network = learnt(width=8)
    scene = random(height, width, 3).numpy()
    tiled, whole = (
        restore(network, scene, RestoreParameters(tile=side), "cpu") for side in (tile, 2048)
    )
    assert 255 * np.abs(whole - scene).mean() > 1
    assert 255 * np.abs(tiled - whole).max() < 0.5
