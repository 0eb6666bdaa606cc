import pytest
import torch
from torch import Tensor, nn

from idemnet.models import IdempotentNet
from idemnet.parameters.network import IdempotentParameters
from idemnet.training.loss import idempotent_loss


class Affine(nn.Module):
    """x -> a*x + b, for which everything can be worked out on paper."""

    def __init__(self, a: float, b: float) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.tensor(a, dtype=torch.float64))
        self.b = nn.Parameter(torch.tensor(b, dtype=torch.float64))

    def forward(self, image: Tensor) -> Tensor:
        return self.a * image + self.b


def flat(value: float, shape: tuple[int, ...] = (2, 3, 4, 4)) -> Tensor:
    return torch.full(shape, value, dtype=torch.float64)


def plain(parts: dict[str, Tensor]) -> dict[str, float]:
    return {name: part.item() for name, part in parts.items()}


def gradient(model: nn.Module, **options) -> Tensor:
    model.zero_grad()
    options = {"passes": 2, "alphas": (1.0, 1.0), "idempotence_weight": 0.1} | options
    idempotent_loss(model, flat(0.4), flat(0.9), **options)["total"].backward()
    return torch.stack([tensor.grad for tensor in model.parameters()])


# 0.5 x + 0.1 on 0.4: 0.3, 0.25, 0.225; clean is 0.9.


def test_one_pass_has_no_idempotent_part():
    parts = idempotent_loss(Affine(0.5, 0.1), flat(0.4), flat(0.9), passes=1, alphas=(2.0,))
    assert plain(parts) == pytest.approx({"sharp_1": 0.6, "residual": 0.1, "total": 1.2})


def test_two_passes_are_equations_7_to_9():
    parts = idempotent_loss(
        Affine(0.5, 0.1), flat(0.4), flat(0.9),
        passes=2, alphas=(1.0, 0.5), idempotence_weight=0.1,
    )  # fmt: skip
    assert plain(parts) == pytest.approx(
        {
            "sharp_1": 0.6,
            "sharp_2": 0.65,
            "idempotent": 0.05,
            "residual": 0.1,
            "total": 0.6 + 0.325 + 0.005,
        }
    )


def test_three_passes_compare_neighbours():
    parts = idempotent_loss(
        Affine(0.5, 0.1), flat(0.4), flat(0.9),
        passes=3, alphas=(1.0, 1.0, 1.0), idempotence_weight=1.0,
    )  # fmt: skip
    assert plain(parts) == pytest.approx(
        {
            "sharp_1": 0.6, "sharp_2": 0.65, "sharp_3": 0.675,
            "idempotent": 0.05 + 0.025, "residual": 0.1, "total": 0.6 + 0.65 + 0.675 + 0.075,
        }
    )  # fmt: skip


def test_distances_are_means():
    small, large = (
        idempotent_loss(Affine(0.5, 0.1), flat(0.4, shape), flat(0.9, shape))
        for shape in ((1, 3, 4, 4), (6, 3, 32, 16))
    )
    assert plain(small) == pytest.approx(plain(large))


def test_distances_are_absolute():
    clean = flat(0.3).clone()
    clean[..., ::2] = 0.5  # 0.2 above the restored image in half of the pixels
    clean[..., 1::2] = 0.2  # 0.1 below it in the others
    parts = idempotent_loss(Affine(0.5, 0.1), flat(0.4), clean, passes=1)
    assert parts["sharp_1"].item() == pytest.approx(0.15)


def test_an_idempotent_model_has_no_idempotent_part():
    assert idempotent_loss(Affine(0.0, 0.7), flat(0.4), flat(0.9))["idempotent"] == 0


def test_passes_that_have_not_joined_do_not_count():
    late = idempotent_loss(Affine(0.5, 0.1), flat(0.4), flat(0.9), passes=1, alphas=(1.0, 5.0))
    assert plain(late) == pytest.approx({"sharp_1": 0.6, "residual": 0.1, "total": 0.6})


@pytest.mark.parametrize(("passes", "alphas"), [(0, (1.0,)), (3, (1.0, 1.0)), (1, ())])
def test_a_pass_without_an_alpha_is_rejected(passes, alphas):
    with pytest.raises(ValueError, match=f"passes = {passes}"):
        idempotent_loss(Affine(0.5, 0.1), flat(0.4), flat(0.9), passes=passes, alphas=alphas)


# Gradients. With x = 0.4, I1 = a x + b, I2 = a I1 + b, both below the clean 0.9 and I1 > I2:
# L = (0.9 - I1) + (0.9 - I2) + w (I1 - I2).


def test_gradient_is_the_one_on_paper():
    x, a, first, w = 0.4, 0.5, 0.3, 0.1
    d_first = torch.tensor([x, 1.0])
    d_second = torch.tensor([first, 1.0]) + a * d_first
    expected = -d_first - d_second + w * (d_first - d_second)
    assert torch.allclose(gradient(Affine(0.5, 0.1)).float(), expected)


def test_detached_gradient_is_the_one_on_paper():
    x, first, w = 0.4, 0.3, 0.1
    d_first, d_second = torch.tensor([x, 1.0]), torch.tensor([first, 1.0])
    expected = -d_first - d_second + w * (d_first - d_second)
    got = gradient(Affine(0.5, 0.1), detach_between_passes=True).float()
    assert torch.allclose(got, expected)


def test_dropping_the_idempotent_term_changes_the_gradient():
    model = Affine(0.5, 0.1)
    assert not torch.allclose(gradient(model), gradient(model, idempotence_weight=0.0))


def test_dropping_the_second_pass_changes_the_gradient():
    model = Affine(0.5, 0.1)
    kept = gradient(model, alphas=(1.0, 1.0), idempotence_weight=0.0)
    assert not torch.allclose(kept, gradient(model, alphas=(1.0, 0.0), idempotence_weight=0.0))


@pytest.mark.parametrize("detach", [False, True])
def test_values_do_not_depend_on_where_the_gradient_goes(detach):
    options = {"passes": 3, "alphas": (1.0, 1.0, 1.0), "detach_between_passes": detach}
    parts = idempotent_loss(Affine(0.5, 0.1), flat(0.4), flat(0.9), **options)
    assert parts["total"].item() == pytest.approx(0.6 + 0.65 + 0.675 + 0.0075)


def tiny() -> IdempotentNet:
    torch.manual_seed(3)
    return IdempotentNet(IdempotentParameters(width=1, iterations=2)).double()


@pytest.mark.parametrize("passes", [1, 2, 3])
def test_gradient_of_a_network_is_that_of_finite_differences(passes):
    model = tiny()
    names, values = zip(*model.named_parameters(), strict=True)
    degraded, clean = torch.rand(2, 1, 3, 4, 4, dtype=torch.float64)

    def total(*parameters: Tensor) -> Tensor:
        def restore(image: Tensor) -> Tensor:
            return torch.func.functional_call(
                model, dict(zip(names, parameters, strict=True)), image
            )

        return idempotent_loss(
            restore, degraded, clean,
            passes=passes, alphas=(1.0, 0.7, 0.5), idempotence_weight=0.3,
        )["total"]  # fmt: skip

    assert torch.autograd.gradcheck(total, values, fast_mode=True)


def test_idempotent_term_alone_moves_a_network():
    """And detaching decides whether the first pass feels it through the second one."""
    images = torch.rand(2, 2, 3, 8, 8, dtype=torch.float64)

    def moved(*, detach: bool) -> Tensor:
        model = tiny()
        options = {"alphas": (0.0, 0.0), "detach_between_passes": detach}
        idempotent_loss(model, *images, **options)["total"].backward()
        return torch.cat([tensor.grad.flatten() for tensor in model.parameters()])

    through, detached = moved(detach=False), moved(detach=True)
    assert through.abs().sum() > 0
    assert not torch.allclose(through, detached)
