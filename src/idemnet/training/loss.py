"""The objective (equations 7-9), for any network that maps images to images."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import l1_loss


def idempotent_loss(
    model: Callable[[Tensor], Tensor],
    degraded: Tensor,
    clean: Tensor,
    *,
    times: int = 2,
    alphas: Sequence[float] = (1.0, 1.0),
    idempotence_weight: float = 0.1,
    detach_between_passes: bool = False,
    first: Tensor | None = None,
) -> dict[str, Tensor]:
    """Restore `times` times, and compare with the clean images and from pass to pass.

    All distances are means of absolute differences.

    Args:
        model: Called once for each pass.
        degraded: What the first pass restores.
        clean: What every pass should give.
        times: Passes; with one there is nothing to be idempotent about.
        alphas: Weight of each pass against the clean images (eq. 8); of more than `times`, the
            first ones count, so that later passes may join later in training.
        idempotence_weight: Lambda of eq. 9.
        detach_between_passes: Whether a pass takes the image before as given. If not, the gradient
            of later passes goes on through earlier ones.
        first: The first pass's result, where it is there already.

    Returns:
        `total` to minimise, and its parts before weighting: `sharp_1` ... for each pass, and
        `idempotent`, summed over neighbouring passes, if there are at least two; and `residual`,
        how much the first pass changed, which is no part of the total.

    Raises:
        ValueError: If there is no pass, or a pass without an alpha.
    """
    if not 1 <= times <= len(alphas):
        raise ValueError(f"times = {times} must be at least 1 and have an alpha each: {alphas}")
    passes = [model(degraded) if first is None else first]
    for _ in range(1, times):
        passes.append(model(passes[-1].detach() if detach_between_passes else passes[-1]))
    parts = {f"sharp_{j}": l1_loss(restored, clean) for j, restored in enumerate(passes, 1)}
    total = torch.stack(
        [alpha * sharp for alpha, sharp in zip(alphas, parts.values(), strict=False)]
    ).sum()
    if times > 1:
        steps = [l1_loss(after, before) for before, after in pairwise(passes)]
        parts["idempotent"] = torch.stack(steps).sum()
        total = total + idempotence_weight * parts["idempotent"]
    parts["residual"] = l1_loss(passes[0].detach(), degraded)
    return parts | {"total": total}


def temporal_loss(images: Sequence[Tensor], targets: Tensor) -> Tensor:
    """Compare what iterations gave with what each was asked for; the distances are summed.

    Args:
        images: Of the iterations, each (N, 3, H, W).
        targets: (N, iterations, 3, H, W).
    """
    pairs = zip(images, targets.unbind(1), strict=True)
    return torch.stack([l1_loss(image, target) for image, target in pairs]).sum()
