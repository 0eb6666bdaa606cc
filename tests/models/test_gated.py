"""Gated blocks: they start as the identity, and restoring does not depend on the picture's size."""

import pytest
import torch

from idemnet.inference.tiling import restored_bands
from idemnet.models.blocks import ChannelAttention, GatedBlock
from idemnet.models.cost import count_macs, count_parameters
from idemnet.models.idempotent import IdempotentNet


def gated(**changes) -> IdempotentNet:
    torch.manual_seed(0)
    arguments = {"width": 8, "iterations": 1, "downscale": 2, "block": "gated"} | changes
    network = IdempotentNet(**arguments)
    for name, scale in network.named_parameters():
        if name.endswith(("scale1", "scale2")):  # as if it had learnt something
            torch.nn.init.normal_(scale, 0, 0.3)
    return network.eval()


def random(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1))


def test_a_new_block_changes_nothing():
    features = random(2, 6, 9, 7)
    assert torch.equal(GatedBlock(6, 8)(features), features)


def test_a_block_is_what_its_description_says():
    """Layer norm, 1x1, depthwise 3x3, gate, attention, 1x1; then norm, 1x1, gate, 1x1."""
    block = GatedBlock(4, 64).train()
    torch.nn.init.normal_(block.scale1)
    torch.nn.init.normal_(block.scale2)
    features = random(1, 4, 6, 5)

    def matrix(layer, image):
        return torch.nn.functional.conv2d(image, layer.weight[:, :, None, None], layer.bias)

    def normal(layer, image):
        mean, variance = image.mean(1, keepdim=True), image.var(1, keepdim=True, unbiased=False)
        unit = (image - mean) / (variance + 1e-5).sqrt()
        return unit * layer.weight[:, None, None] + layer.bias[:, None, None]

    image = block.depthwise(matrix(block.expand1, normal(block.norm1, features)))
    image = image[:, :4] * image[:, 4:]
    image = image * matrix(block.attention.weigh, image.mean((2, 3), keepdim=True))
    middle = features + block.scale1[:, None, None] * matrix(block.project1, image)
    image = matrix(block.expand2, normal(block.norm2, middle))
    image = matrix(block.project2, image[:, :4] * image[:, 4:])
    expected = middle + block.scale2[:, None, None] * image
    assert torch.allclose(block(features), expected, atol=1e-5)


def test_what_fits_into_a_cell_is_weighed_as_in_training():
    attention, features = ChannelAttention(5, window=32), random(2, 16, 13, 5)
    trained = attention.train()(features)
    assert torch.allclose(attention.eval()(features), trained, atol=1e-6)


def test_attention_is_local_when_it_restores():
    attention, features = ChannelAttention(3, window=8).eval(), random(1, 40, 40, 3)
    changed = features.clone()
    changed[:, 30:, 30:] = 1
    difference = (attention(changed) - attention(features)).abs()
    assert difference[:, 30:, 30:].max() > 0.01
    assert difference[:, :20, :20].max() == 0


def test_tiles_give_what_the_whole_picture_gives():
    network, image = gated(attention_window=32), random(1, 3, 256, 384)
    with torch.inference_mode():
        whole = network(image)

        def read(rows: slice, columns: slice) -> torch.Tensor:
            return image[..., rows, columns]

        bands = restored_bands(network, read, 256, 384, tile=224, overlap=96)
        tiled = torch.cat(list(bands), dim=-2)
    assert (whole - image).abs().mean() > 0.001
    assert (tiled - whole).abs().max() < 0.05 * (whole - image).abs().max()


def test_gated_blocks_take_the_places_of_residual_ones():
    paper, ours = IdempotentNet(), IdempotentNet(block="gated")
    assert count_parameters(ours) < count_parameters(paper) == 3_117_411
    assert count_macs(ours, 64, 64) < count_macs(paper, 64, 64)
    recurrent = {name for name, _ in ours.named_parameters() if "recurrence" in name}
    assert recurrent == {name for name, _ in paper.named_parameters() if "recurrence" in name}


def test_every_parameter_learns():
    network = gated(iterations=2).train()
    network(random(1, 3, 32, 32)).square().mean().backward()
    still = [name for name, value in network.named_parameters() if not value.grad.abs().sum()]
    assert not still


def test_an_unknown_block_is_rejected_by_name():
    with pytest.raises(ValueError, match="block is 'dense', not 'residual' or 'gated'"):
        IdempotentNet(block="dense")
