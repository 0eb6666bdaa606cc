import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from idemnet.models import MODELS, MTRNN
from idemnet.models.cost import count_macs, count_parameters
from idemnet.parameters.network import MTRNNParameters


def small(width: int = 2, iterations: int = 3, **arguments) -> MTRNN:
    torch.manual_seed(1)
    return MTRNN(MTRNNParameters(width=width, iterations=iterations, **arguments)).double().eval()


def images(height: int = 24, width: int = 32, count: int = 2) -> Tensor:
    random = torch.Generator().manual_seed(2)
    return torch.rand(count, 3, height, width, generator=random, dtype=torch.float64)


# Sizes


def test_parameters_are_those_of_the_released_network():
    assert count_parameters(MTRNN(MTRNNParameters())) == 2_635_523
    assert MODELS["mtrnn"] is MTRNN


def test_macs_are_those_of_the_released_network_without_its_shifts():
    """There, the mean is subtracted twice and added once by 1x1 convolutions: 27 MACs a pixel."""
    assert count_macs(MTRNN(MTRNNParameters()), 32, 48) == 32 * 48 * 6 * (368_187 - 27)


# What it computes


def step_by_hand(network: MTRNN, degraded: Tensor, estimate: Tensor, f1: Tensor, f2: Tensor):
    """One iteration from the list of its layers; without F1 and F2, the layers before stand in."""
    tensors = iter(list(network.parameters()))
    F = nn.functional  # noqa: N806

    def convolve(x: Tensor, stride: int = 1) -> Tensor:
        weight, bias = next(tensors), next(tensors)
        return F.conv2d(x, weight, bias, stride=stride, padding=weight.shape[-1] // 2)

    def up(x: Tensor) -> Tensor:
        grown = F.conv_transpose2d(x, next(tensors), next(tensors), stride=2, padding=1)
        return F.leaky_relu(grown, 0.1)

    def blocks(x: Tensor) -> Tensor:
        for _ in range(3):
            x = x + convolve(F.leaky_relu(convolve(x), 0.1))
        return x

    def join(*parts: Tensor) -> Tensor:
        return torch.cat(parts, 1)

    full = blocks(convolve(join(degraded, estimate)))
    half = F.leaky_relu(convolve(full, 2), 0.1)
    half = blocks(convolve(join(half, half if f1 is None else f1)))
    quarter = F.leaky_relu(convolve(half, 2), 0.1)
    quarter = blocks(convolve(join(quarter, quarter if f2 is None else f2)))
    new2 = blocks(quarter)
    new1 = blocks(convolve(join(up(new2), half)))
    last = blocks(convolve(join(up(new1), full)))
    return degraded + convolve(last), new1, new2


def test_iterations_are_those_of_the_list_of_layers():
    network, image = small(), images()
    mean = torch.tensor([0.4488, 0.4371, 0.4040]).double().view(3, 1, 1)
    blurry = estimate = 255 * image - 255 * mean
    f1 = f2 = None
    with torch.no_grad():
        for found in network.iterate(image):
            estimate, f1, f2 = step_by_hand(network, blurry, estimate, f1, f2)
            assert torch.allclose(found, estimate / 255 + mean, atol=1e-6)
            assert (found - image).abs().mean() > 1e-3


def test_the_residual_is_added_to_the_degraded_image_in_every_iteration():
    network, image = small(), images()
    with torch.no_grad():
        network.to_image.weight.zero_()
        network.to_image.bias.fill_(25.5)
        for restored in network.iterate(image):
            assert torch.allclose(restored, image + 0.1)


@pytest.mark.parametrize("remembered", ["features1", "features2"])
def test_what_is_remembered_changes_the_next_iteration(remembered):
    network, image = small(), images()
    with torch.no_grad():
        residual, memory = network._step(image, image, None)
        other = memory._replace(**{remembered: getattr(memory, remembered) + 1})
        again = [network._step(image, image + residual, m)[0] for m in (memory, other)]
    assert not torch.allclose(*again)


def test_the_estimate_changes_the_next_iteration():
    network, image = small(), images()
    with torch.no_grad():
        assert not torch.allclose(*(network._step(image, e, None)[0] for e in (image, image + 1)))


# Shapes and batches


@pytest.mark.parametrize("size", [(1, 1), (3, 30), (21, 18)])
@pytest.mark.parametrize("downscale", [1, 2])
def test_any_size_comes_back_as_it_went_in(size, downscale):
    with torch.no_grad():
        restored = small(downscale=downscale)(images(*size))
    assert restored.shape == (2, 3, *size)
    assert restored.isfinite().all()


def test_images_of_a_batch_do_not_mix_and_nothing_is_remembered_between_calls():
    network, image = small(), images(count=3)
    with torch.no_grad():
        together = network(image)
        one_by_one = torch.cat([network(single) for single in image.split(1)])
    assert torch.allclose(together, one_by_one, rtol=1e-9)


def test_fewer_iterations_are_the_first_ones_of_more():
    network, image = small(), images()
    with torch.no_grad():
        three = network.iterate(image)
        network.iterations = 2
        assert len(three) == 3
        assert torch.equal(network(image), three[1])


# Training


def test_a_network_without_residual_is_the_identity():
    with torch.no_grad():
        assert torch.equal(small(residual_scale=0.0)(images()), images())


def test_every_parameter_learns_and_checkpointing_changes_no_gradient():
    network = small()

    def gradients() -> dict[str, Tensor]:
        network.zero_grad()
        network(network(images(8, 8))).abs().mean().backward()
        return {name: tensor.grad.clone() for name, tensor in network.named_parameters()}

    plain = gradients()
    assert [name for name, gradient in plain.items() if not gradient.any()] == []
    network.checkpoint_iterations = True
    kept = gradients()
    assert all(torch.equal(plain[name], kept[name]) for name in plain)


def test_the_mean_is_no_weight():
    assert "mean" not in small().state_dict()


def test_exported_program_takes_other_sizes():
    network = small(iterations=2)
    sides = {name: Dim(name, min=5, max=4096) for name in ("height", "width")}
    shapes = {"image": {0: Dim("batch"), 2: sides["height"], 3: sides["width"]}}
    program = export(network, (images(27, 33),), dynamic_shapes=shapes).module()
    with torch.no_grad():
        for height, width, count in [(40, 64, 1), (9, 13, 3)]:
            image = images(height, width, count)
            assert torch.allclose(program(image), network(image), rtol=1e-9)
