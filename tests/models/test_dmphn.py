from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim, export

from idemnet.models import DMPHN, MODELS
from idemnet.models.cost import count_macs, count_parameters
from idemnet.models.dmphn import patchwise, released_names
from idemnet.parameters.network import DMPHNParameters


def small(stack: int = 1, width: int = 2, **arguments) -> DMPHN:
    torch.manual_seed(1)
    network = DMPHN(DMPHNParameters(stack=stack, width=width, **arguments)).double().eval()
    with torch.no_grad():  # so large that every part shows in the image
        for tensor in network.parameters():
            tensor.normal_(std=0.3)
    return network


def images(height: int = 32, width: int = 24, count: int = 2) -> Tensor:
    random = torch.Generator().manual_seed(2)
    return torch.rand(count, 3, height, width, generator=random, dtype=torch.float64)


# Sizes


@pytest.mark.parametrize(("stack", "parameters"), [(1, 7_232_524), (4, 21_697_572)])
def test_counts_are_those_of_the_released_networks(stack, parameters):
    assert count_parameters(DMPHN(DMPHNParameters(stack=stack))) == parameters


def test_every_level_has_an_encoder_and_a_decoder_of_its_own():
    [levels] = DMPHN(DMPHNParameters()).stacks
    assert [count_parameters(level.encoder) for level in levels] == [868_288] * 4
    assert [count_parameters(level.decoder) for level in levels] == [939_843] * 4


def test_macs_are_counted_as_by_hand():
    w = 8
    encoder = 9 * (3 * w + 4 * w * w) + 9 * (2 * w * w + 16 * w * w) / 4
    encoder += 9 * (8 * w * w + 64 * w * w) / 16
    decoder = 9 * 64 * w * w / 16 + 16 * 8 * w * w / 16 + 9 * 16 * w * w / 4
    decoder += 16 * 2 * w * w / 4 + 9 * (4 * w * w + 3 * w)
    for stack, pairs in ((1, 4), (2, 6)):
        network = DMPHN(DMPHNParameters(stack=stack, width=w))
        assert count_macs(network, 32, 16) == 32 * 16 * pairs * (encoder + decoder)


def test_it_is_found_by_name():
    assert MODELS["dmphn"] is DMPHN


# What it computes, written out patch by patch


def layers(part: nn.Module, patch: Tensor) -> Tensor:
    """Put a patch through an encoder or decoder, with functions instead of modules."""
    tensors = iter(dict(part.named_parameters()).values())
    for module in part:
        if isinstance(module, nn.ConvTranspose2d):
            patch = nn.functional.conv_transpose2d(
                patch, next(tensors), next(tensors), stride=2, padding=1
            )
        elif isinstance(module, nn.Conv2d):
            weight, bias = next(tensors), next(tensors)
            stride = 2 if weight.shape[0] == 2 * weight.shape[1] else 1
            patch = nn.functional.conv2d(patch, weight, bias, stride=stride, padding=1)
        else:
            inner = nn.functional.conv2d(patch, next(tensors), next(tensors), padding=1)
            inner = nn.functional.conv2d(inner.relu(), next(tensors), next(tensors), padding=1)
            patch = patch + inner
    return patch


def over(*parts: Tensor) -> Tensor:
    return torch.cat(parts, 2)


def beside(*parts: Tensor) -> Tensor:
    return torch.cat(parts, 3)


def test_four_levels_flow_into_each_other_as_published():
    network, image = small(), images()
    [levels] = network.stacks
    E = {k: partial(layers, level.encoder) for k, level in enumerate(levels, 1)}  # noqa: N806
    D = {k: partial(layers, level.decoder) for k, level in enumerate(levels, 1)}  # noqa: N806
    x = image - 0.5
    upper, lower = x[:, :, :16], x[:, :, 16:]
    quarters = [upper[..., :12], upper[..., 12:], lower[..., :12], lower[..., 12:]]
    with torch.no_grad():
        f4 = [over(E[4](q[:, :, :8]), E[4](q[:, :, 8:])) for q in quarters]
        f3 = [E[3](q + D[4](f)) for q, f in zip(quarters, f4, strict=True)]
        top = beside(f3[0], f3[1]) + beside(f4[0], f4[1])
        bottom = beside(f3[2], f3[3]) + beside(f4[2], f4[3])
        f2 = over(E[2](upper + D[3](top)), E[2](lower + D[3](bottom))) + over(top, bottom)
        f1 = E[1](x + D[2](f2)) + f2
        expected = D[1](f1) + 0.5
        assert torch.allclose(network(image), expected, rtol=1e-9)
        assert (expected - image).abs().mean() > 0.1  # and not by doing nothing


def test_stacks_flow_into_each_other_as_published():
    network, image = small(stack=3), images(16, 24)
    x = i = image - 0.5
    h, w = 8, 12
    outputs, before = [], None
    with torch.no_grad():
        for levels in network.stacks:
            (e1, d1), (e2, d2), (e3, d3) = (
                [partial(layers, part) for part in (level.encoder, level.decoder)]
                for level in levels
            )
            t = beside(e3(i[:, :, :h, :w]), e3(i[:, :, :h, w:]))
            b = beside(e3(i[:, :, h:, :w]), e3(i[:, :, h:, w:]))
            if before:
                t, b = t + before["t"], b + before["b"]
            u, v = e2(i[:, :, :h] + d3(t)) + t, e2(i[:, :, h:] + d3(b)) + b
            if before:
                u, v = u + before["u"], v + before["v"]
            l2 = over(u, v)
            r2 = d2(l2) + (outputs[0] if outputs else 0)
            l1 = e1(i + r2) + l2 + (before["l1"] if before else 0)
            i = d1(l1)
            outputs.append(i)
            before = {"t": t, "b": b, "u": u, "v": v, "l1": l1}
        found = network.iterate(image)
    assert len(found) == 3
    for one, other in zip(found, outputs, strict=True):
        assert torch.allclose(one, other + 0.5, rtol=1e-9)
    assert not torch.allclose(found[0], x + 0.5)


def test_patches_are_separate_images():
    image = torch.arange(2 * 1 * 8 * 4.0).view(2, 1, 8, 4)
    seen = []

    def look(patches: Tensor) -> Tensor:
        seen.append(patches)
        return patches

    assert torch.equal(patchwise(look, image, (4, 2)), image)
    [patches] = seen
    assert {tuple(patch.flatten().tolist()) for patch in patches} == {
        tuple(one[:, r : r + 2, c : c + 2].flatten().tolist())
        for one in image for r in (0, 2, 4, 6) for c in (0, 2)
    }  # fmt: skip


# Shapes and batches


@pytest.mark.parametrize("size", [(1, 1), (3, 50), (33, 17)])
@pytest.mark.parametrize("arguments", [{}, {"stack": 2}, {"downscale": 2}])
def test_any_size_comes_back_as_it_went_in(size, arguments):
    with torch.no_grad():
        restored = small(**arguments)(images(*size))
    assert restored.shape == (2, 3, *size)
    assert restored.isfinite().all()


def test_odd_sizes_are_padded_by_reflection_to_16_and_8():
    network, image = small(), images(21, 30)
    by_hand = nn.functional.pad(image, (0, 2, 0, 11), mode="reflect")
    with torch.no_grad():
        assert torch.equal(network(image), network(by_hand)[..., :21, :30])


def test_images_of_a_batch_do_not_mix():
    network, image = small(), images(count=3)
    with torch.no_grad():
        together = network(image)
        one_by_one = torch.cat([network(single) for single in image.split(1)])
    assert torch.allclose(together, one_by_one, rtol=1e-9)


def test_the_last_stack_gives_the_restored_image():
    with torch.no_grad():
        network = small(stack=2)
        assert torch.equal(network.iterate(images())[-1], network(images()))
        assert len(small().iterate(images())) == 1


# Start of training


def test_weights_start_as_their_authors_start_them():
    torch.manual_seed(0)
    for name, tensor in DMPHN(DMPHNParameters(stack=1, width=16)).named_parameters():
        if name.endswith("bias"):
            assert not tensor.any(), name
        elif tensor.numel() > 2000:
            deconvolution = tensor.shape[-1] == 4
            outputs = tensor.shape[1 if deconvolution else 0] * tensor[0, 0].numel()
            assert tensor.std().item() == pytest.approx(0.5 * (2 / outputs) ** 0.5, rel=0.1), name


def test_by_default_the_last_level_gives_the_image_itself():
    network = DMPHN(DMPHNParameters(stack=1, width=2))
    with torch.no_grad():
        network.stacks[0][0].decoder[-1].weight.zero_()
        assert torch.equal(network(images().float()), torch.full((2, 3, 32, 24), 0.5))


@pytest.mark.parametrize("stack", [1, 2])
def test_a_residual_of_nothing_is_the_identity(stack):
    network = DMPHN(DMPHNParameters(stack=stack, width=2, residual_scale=0.0))
    image = images().float()
    with torch.no_grad():
        for restored in network.iterate(image):
            assert torch.allclose(restored, image, atol=1e-6)


@pytest.mark.parametrize("stack", [1, 2])
def test_every_parameter_learns_and_checkpointing_changes_no_gradient(stack):
    network = small(stack)

    def gradients() -> dict[str, Tensor]:
        network.zero_grad()
        network(network(images(16, 8))).abs().mean().backward()
        return {name: tensor.grad.clone() for name, tensor in network.named_parameters()}

    plain = gradients()
    assert [name for name, gradient in plain.items() if not gradient.any()] == []
    network.checkpoint_iterations = True
    kept = gradients()
    assert all(torch.equal(plain[name], kept[name]) for name in plain)


# Ways to run it, and to name it


def test_exported_program_takes_other_sizes():
    network = small(downscale=1)
    sides = {name: Dim(name, min=33, max=4096) for name in ("height", "width")}
    shapes = {"image": {0: Dim("batch"), 2: sides["height"], 3: sides["width"]}}
    program = export(network, (images(35, 41),), dynamic_shapes=shapes).module()
    with torch.no_grad():
        for height, width, count in [(48, 40, 1), (50, 71, 3)]:
            image = images(height, width, count)
            assert torch.allclose(program(image), network(image), rtol=1e-9)


@pytest.mark.parametrize(("stack", "files"), [(1, 8), (4, 24)])
def test_released_names_are_all_of_ours_once(stack, files):
    names = released_names(stack)
    assert len(names) == files
    ours = [name for tensors in names.values() for name in tensors.values()]
    assert sorted(ours) == sorted(DMPHN(DMPHNParameters(stack=stack, width=1)).state_dict())
