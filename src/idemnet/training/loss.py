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
    passes: int = 2,
    alphas: Sequence[float] = (1.0, 1.0),
    idempotence_weight: float = 0.1,
    detach_between_passes: bool = False,
    first: Tensor | None = None,
) -> dict[str, Tensor]:
    """Compute the loss of repeated passes: distances to the clean images and between passes.

    All distances are mean absolute differences.

    Args:
        model: The network, called once for each pass.
        degraded: Input of the first pass.
        clean: Target of every pass.
        passes: Number of passes; with one there is no idempotent loss.
        alphas: Weight of each pass's distance to the clean images (eq. 8); may be longer than
            `passes`, so that later passes can join during training.
        idempotence_weight: Lambda of eq. 9.
        detach_between_passes: Whether to stop gradients between passes. If not, gradients of later
            passes flow through earlier ones.
        first: Result of the first pass, if already computed.

    Returns:
        `total` to minimise, and its parts before weighting: `sharp_1` ... for each pass, and
        `idempotent`, summed over neighbouring passes, if there are at least two; and `residual`,
        the change by the first pass, which is not part of the total.

    Raises:
        ValueError: If there is no pass, or a pass without an alpha.
    """
    if not 1 <= passes <= len(alphas):
        raise ValueError(f"passes = {passes} must be at least 1 and have an alpha each: {alphas}")
    results = [model(degraded) if first is None else first]
    for _ in range(1, passes):
        results.append(model(results[-1].detach() if detach_between_passes else results[-1]))
    parts = {f"sharp_{j}": l1_loss(restored, clean) for j, restored in enumerate(results, 1)}
    total = torch.stack(
        [alpha * sharp for alpha, sharp in zip(alphas, parts.values(), strict=False)]
    ).sum()
    if passes > 1:
        steps = [l1_loss(after, before) for before, after in pairwise(results)]
        parts["idempotent"] = torch.stack(steps).sum()
        total = total + idempotence_weight * parts["idempotent"]
    parts["residual"] = l1_loss(results[0].detach(), degraded)
    return parts | {"total": total}


def temporal_loss(images: Sequence[Tensor], targets: Tensor) -> Tensor:
    """Return the sum of distances between iterations and their targets.

    Args:
        images: Results of the iterations, each (N, 3, H, W).
        targets: (N, iterations, 3, H, W).
    """
    pairs = zip(images, targets.unbind(1), strict=True)
    return torch.stack([l1_loss(image, target) for image, target in pairs]).sum()
