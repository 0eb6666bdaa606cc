"""Gated blocks: they start as the identity, and restoring does not depend on the picture's size."""

import pytest
import torch
from torch.export import Dim

from idemnet.inference import export
from idemnet.inference.export import compare, export_network
from idemnet.models.blocks import ChannelAttention, GatedBlock
from idemnet.models.cost import count_macs, count_parameters
from idemnet.models.idempotent import IdempotentNet
from idemnet.parameters.network import IdempotentParameters


def gated(**changes) -> IdempotentNet:
    torch.manual_seed(0)
    arguments = {"width": 8, "iterations": 1, "downscale": 2, "block": "gated"} | changes
    network = IdempotentNet(IdempotentParameters(**arguments))
    for name, scale in network.named_parameters():
        if name.endswith(("scale1", "scale2")):  # as if it had learnt something
            torch.nn.init.normal_(scale, 0, 0.3)
    return network.eval()


def random(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1))


def test_a_new_block_changes_nothing():
    features = random(2, 6, 9, 7)
    assert torch.equal(GatedBlock(6, 4)(features), features)


def test_a_block_is_what_its_description_says():
    """Layer norm, 1x1, depthwise 3x3, gate, attention, 1x1; then norm, 1x1, gate, 1x1."""
    block = GatedBlock(4, 32).train()
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
    attention, features = ChannelAttention(5, cell=16), random(2, 16, 13, 5)
    trained = attention.train()(features)
    assert torch.allclose(attention.eval()(features), trained, atol=1e-6)


def test_attention_is_local_when_it_restores():
    attention, features = ChannelAttention(3, cell=4).eval(), random(1, 40, 40, 3)
    changed = features.clone()
    changed[:, 30:, 30:] = 1
    difference = (attention(changed) - attention(features)).abs()
    assert difference[:, 30:, 30:].max() > 0.01
    assert difference[:, :20, :20].max() == 0


def test_means_are_those_of_cells_and_interpolated_between():
    """Pooling and interpolation of torch's are the oracle, where they can be: at whole cells."""
    attention, features = ChannelAttention(3, cell=4).eval(), random(1, 12, 20, 3)
    means = torch.nn.functional.avg_pool2d(features.permute(0, 3, 1, 2), 4)
    factors = attention.weigh(means.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    spread = torch.nn.functional.interpolate(factors, scale_factor=4, mode="bilinear")
    expected = features * spread.permute(0, 2, 3, 1)
    assert torch.allclose(attention(features), expected, atol=1e-5)


SIZES = [(1, 33, 47), (1, 64, 64), (2, 65, 129), (1, 200, 300)]
"""Images, height, width: of one cell of attention, 64x64, and of several."""


def test_an_exported_block_takes_pictures_of_one_cell_and_of_more():
    attention = ChannelAttention(3, cell=16).eval()
    sides = {"features": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC, 2: Dim.DYNAMIC}}
    program = torch.export.export(attention, (random(2, 19, 21, 3),), dynamic_shapes=sides).module()
    for height, width in [(9, 12), (16, 16), (17, 33), (50, 75)]:
        features = random(1, height, width, 3)
        assert torch.allclose(program(features), attention(features), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["onnx", "pt2"])
def test_exported_weights_take_pictures_of_one_cell_and_of_more(kind):
    network = gated(downscale=4, attention_window=256)
    content = export_network(network, kind, {}).content
    program = {"onnx": export._load_onnx, "pt2": export._load_pt2}[kind](content)
    assert compare(network, program, SIZES) < 1e-4


def test_gated_blocks_take_the_places_of_residual_ones():
    blocks = ("residual", "gated")
    paper, ours = (IdempotentNet(IdempotentParameters(block=block)) for block in blocks)
    assert count_parameters(ours) < count_parameters(paper) == 3_117_411
    assert count_macs(ours, 64, 64) < count_macs(paper, 64, 64)
    recurrent = {name for name, _ in ours.named_parameters() if "recurrence" in name}
    assert recurrent == {name for name, _ in paper.named_parameters() if "recurrence" in name}


def test_every_parameter_learns():
    network = gated(iterations=2).train()
    network(random(1, 3, 32, 32)).square().mean().backward()
    still = [name for name, value in network.named_parameters() if not value.grad.abs().sum()]
    assert not still
