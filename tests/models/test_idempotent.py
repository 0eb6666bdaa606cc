import copy

import pytest
import torch
from torch import Tensor
from torch.export import Dim, export

from idemnet.models import MODELS, IdempotentNet
from idemnet.models.cost import count_macs, count_parameters
from idemnet.parameters.network import IdempotentParameters

SWITCHES = [(True, True), (False, True), (True, False), (False, False)]


def small(width: int = 4, iterations: int = 3, **arguments) -> IdempotentNet:
    torch.manual_seed(1)
    arguments |= {"width": width, "iterations": iterations}
    return IdempotentNet(IdempotentParameters(**arguments)).eval()


def images(height: int = 24, width: int = 32, count: int = 2) -> Tensor:
    return torch.rand(count, 3, height, width, generator=torch.Generator().manual_seed(2))


# What the paper's tables say


@pytest.mark.parametrize(
    ("switches", "parameters", "macs"),
    zip(
        SWITCHES,
        [3_117_411, 3_025_251, 2_084_707, 1_992_547],
        [395_968, 386_752, 331_456, 322_240],
        strict=True,
    ),
)
def test_counts_are_the_papers(switches, parameters, macs):
    features, code = switches
    network = IdempotentNet(IdempotentParameters(feature_recurrence=features, code_recurrence=code))
    assert count_parameters(network) == parameters
    assert count_macs(network, 64, 96) == 64 * 96 * 6 * macs


def test_parts_have_the_counts_of_the_settled_layout():
    network = IdempotentNet(IdempotentParameters())
    assert count_parameters(network.encoder) == 960_448
    assert count_parameters(network.recurrence) == 1_032_704
    assert count_parameters(network.decoder) == 1_124_259


@pytest.mark.parametrize("tap", ["residual", "upsample"])
def test_where_feature_maps_are_tapped_costs_nothing(tap):
    network = IdempotentNet(IdempotentParameters(recurrence_tap=tap))
    assert count_parameters(network) == 3_117_411
    assert count_macs(network, 32, 32) == 32 * 32 * 6 * 395_968


def test_macs_are_counted_as_by_hand():
    """An oracle that shares nothing with the counter: the layers' sizes, written out."""
    w, n = 8, 2
    per_pixel = {
        1: 9 * (3 * w + 4 * w * w)  # encoder, full resolution
        + 9 * (2 * w * 2 * w + 2 * w * w + 2 * w * w + w * 3)  # decoder, full resolution
        + 16 * 2 * w * w / 4,  # deconvolution to full: sixteen products an input pixel
        4: 9 * (2 * w * 2 * w + 4 * 4 * w * w)
        + 9 * (4 * w * 4 * w + 4 * w * 2 * w + 2 * 4 * w * w)
        + 16 * 4 * w * 2 * w / 4,
        16: 9 * 16 * w * w * (1 + 4 + 1 + 6 + 4),  # down, RBs, projection, GRU, RBs
    }
    expected = n * 40 * 48 * sum(macs / area for area, macs in per_pixel.items())
    assert count_macs(small(width=w, iterations=n), 40, 48) == expected


def test_counting_leaves_the_network_as_it_was():
    network = small()
    before = copy.deepcopy(network.state_dict())
    count_macs(network, 16, 16)
    assert all(torch.equal(before[name], tensor) for name, tensor in network.state_dict().items())


def test_working_at_half_resolution_costs_about_a_quarter():
    full, half = (count_macs(small(16, 2, downscale=d), 64, 64) for d in (1, 2))
    assert 0.25 < half / full < 0.30


def test_models_are_found_by_name():
    assert MODELS["idempotent"] is IdempotentNet


# Shapes


@pytest.mark.parametrize("downscale", [1, 2])
def test_last_iteration_is_the_restored_image(downscale):
    network, image = small(downscale=downscale), images(22, 31)
    with torch.no_grad():
        iterations = network.iterate(image)
        assert len(iterations) == 3
        assert torch.equal(iterations[-1], network(image))
        assert not torch.equal(iterations[0], iterations[1])


def test_fewer_iterations_are_the_first_ones_of_more():
    network, image = small(), images()
    with torch.no_grad():
        three = network.iterate(image)
        network.iterations = 2
        assert torch.equal(network(image), three[1])


# State


def test_nothing_is_remembered_between_calls():
    network, image = small(), images()
    with torch.no_grad():
        first = network(image)
        network(1 - images(50, 41))
        assert torch.equal(network(image), first)


def test_images_of_a_batch_do_not_mix():
    network, image = small(), images(count=3).double()
    network.double()
    with torch.no_grad():
        together = network(image)
        one_by_one = torch.cat([network(single) for single in image.split(1)])
        other = image.clone()
        other[1:] = 0
        assert torch.allclose(together, one_by_one, atol=1e-12)
        assert torch.allclose(network(other)[0], together[0], atol=1e-12)


def test_images_of_a_batch_have_separate_gradients():
    network, image = small(), images(count=2).requires_grad_()
    network(image)[0].sum().backward()
    assert image.grad[0].abs().sum() > 0
    assert image.grad[1].abs().sum() == 0


@pytest.mark.parametrize("remembered", ["features1", "features2", "code"])
@pytest.mark.parametrize("tap", ["residual", "upsample"])
def test_what_is_remembered_changes_the_next_iteration(remembered, tap):
    network, image = small(recurrence_tap=tap), images()
    with torch.no_grad():
        image, memory = network._step(image, None)
        other = memory._replace(**{remembered: getattr(memory, remembered) + 0.1})
        assert not torch.allclose(network._step(image, memory)[0], network._step(image, other)[0])


@pytest.mark.parametrize("switch", ["feature_recurrence", "code_recurrence"])
def test_what_is_switched_off_is_not_remembered(switch):
    network, image = small(**{switch: False}), images()
    with torch.no_grad():
        image, memory = network._step(image, None)
        names = ["features1", "features2"] if switch == "feature_recurrence" else ["code"]
        other = memory._replace(**{name: getattr(memory, name) + 1 for name in names})
        assert torch.equal(network._step(image, memory)[0], network._step(image, other)[0])


def test_taps_give_different_networks():
    with torch.no_grad():
        one, other = (small(recurrence_tap=tap)(images()) for tap in ("residual", "upsample"))
    assert not torch.allclose(one, other)


def test_first_iteration_stands_in_for_what_it_cannot_remember():
    network, image = small(), images()
    with torch.no_grad():
        features1, features2, code = network.encoder(image - 0.5, None)
        memory = network._step(image, None)[1]
        own = memory._replace(features1=features1, features2=features2)
        assert torch.equal(network.encoder(image - 0.5, own)[2], code)


# Start of training


def test_a_network_without_residual_is_the_identity():
    network, image = small(residual_scale=0.0), images(13, 18)
    with torch.no_grad():
        assert all(torch.equal(iteration, image) for iteration in network.iterate(image))


def test_residual_scale_starts_near_the_identity():
    image = images()
    with torch.no_grad():
        plain, scaled = ((small(residual_scale=s)(image) - image).abs().mean() for s in (1.0, 0.01))
    assert 0 < scaled < 0.05 * plain


def test_weights_are_xaviers_and_biases_zero():
    for name, tensor in IdempotentNet(IdempotentParameters(width=16)).named_parameters():
        if name.endswith("bias"):
            assert not tensor.any(), name
        else:
            # The two gates of the GRU lie in one tensor, and are drawn as two.
            one = tensor.chunk(2)[1] if name.endswith("gates.weight") else tensor
            bound = (6 / ((one.shape[0] + one.shape[1]) * one[0, 0].numel())) ** 0.5
            assert 0.9 * bound < one.abs().max() <= bound, name


def test_every_parameter_learns():
    network = small()
    (network(images()) - 0.5).square().mean().backward()
    silent = [name for name, tensor in network.named_parameters() if not tensor.grad.any()]
    assert silent == []


# Ways to run it


def gradients(network: IdempotentNet, image: Tensor) -> dict[str, Tensor]:
    network.zero_grad()
    network(network(image)).abs().mean().backward()
    return {name: tensor.grad.clone() for name, tensor in network.named_parameters()}


@pytest.mark.parametrize("switches", SWITCHES)
def test_checkpointing_changes_no_gradient(switches):
    features, code = switches
    network = small(feature_recurrence=features, code_recurrence=code).train()
    plain = gradients(network, images())
    network.checkpoint_iterations = True
    kept = gradients(network, images())
    assert all(torch.equal(plain[name], kept[name]) for name in plain)


def test_checkpointing_keeps_less_for_the_gradient():
    def kept(network: IdempotentNet) -> int:
        total = 0

        def pack(tensor: Tensor) -> Tensor:
            nonlocal total
            total += tensor.numel()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            network(images())
        return total

    network = small(iterations=4)
    plain = kept(network)
    network.checkpoint_iterations = True
    assert kept(network) < 0.35 * plain


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_autocast_stays_near_full_precision_and_learns(kind):
    network, image = small(residual_scale=0.1), images()
    with torch.autocast("cpu", dtype=kind):
        restored = network(image)
        restored.mean().backward()
    assert restored.dtype == torch.float32
    assert all(tensor.grad.isfinite().all() for tensor in network.parameters())
    with torch.no_grad():
        change = (network(image) - image).abs().mean()
        assert (restored - network(image)).abs().mean() < 0.05 * change


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float64])
def test_other_precisions_give_back_what_they_got(kind):
    with torch.no_grad():
        assert small().to(kind)(images().to(kind)).dtype == kind


def test_channels_last_gives_the_same_image():
    network, image = small(8), images(30, 41)
    with torch.no_grad():
        plain = network(image)
        network.to(memory_format=torch.channels_last)
        last = network(image.to(memory_format=torch.channels_last))
    assert torch.allclose(plain, last, atol=1e-5)


# The compiler itself asks the first pass's image, which is no leaf, for its gradient.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_compiled_whole_gives_the_same_image_and_gradient():
    network, image = small(iterations=2), images()
    plain, gradient = network(image), gradients(network, image)
    compiled = torch.compile(network, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(image), plain, atol=1e-5)
    network.zero_grad()
    compiled(compiled(image)).abs().mean().backward()
    for name, tensor in network.named_parameters():
        assert torch.allclose(tensor.grad, gradient[name], atol=1e-5), name


@pytest.mark.parametrize("example", [(24, 32), (27, 33)])
@pytest.mark.parametrize("downscale", [1, 2])
def test_exported_program_takes_other_sizes(example, downscale):
    network = small(iterations=2, downscale=downscale)
    sides = {name: Dim(name, min=4 * downscale + 1, max=4096) for name in ("height", "width")}
    shapes = {"image": {0: Dim("batch"), 2: sides["height"], 3: sides["width"]}}
    program = export(network, (images(*example),), dynamic_shapes=shapes).module()
    with torch.no_grad():
        for height, width, count in [(40, 64, 1), (9, 13, 2), (35, 50, 3)]:
            image = images(height, width, count)
            assert torch.allclose(program(image), network(image), atol=1e-5)


def test_weights_travel():
    with torch.no_grad():
        trained, fresh = small(), IdempotentNet(IdempotentParameters(width=4, iterations=3)).eval()
        assert not torch.equal(trained(images()), fresh(images()))
        fresh.load_state_dict(trained.state_dict())
        assert torch.equal(trained(images()), fresh(images()))
