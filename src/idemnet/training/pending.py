"""Losses and gradient norms that wait on the device until somebody looks at them.

Reading a number from a GPU waits for all work before it. So updates only keep their numbers, and
many are read at once. An update that is not finite, and every later one, is skipped on the device;
who reads them learns which it was.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from idemnet.training.process_group import ProcessGroup

NORM = "gradient_norm"


@dataclass(frozen=True)
class Update:
    """An update's numbers, still on the device, and where they are from."""

    epoch: int
    step: int
    samples: Sequence[str]
    values: Mapping[str, Tensor]


class PendingUpdates:
    """Updates whose numbers nobody has read yet."""

    def __init__(self, device: str, *, scaled: bool) -> None:
        """Begin with none.

        Args:
            device: Where the numbers are.
            scaled: Whether float16's scaler leaves out updates that overflow, which is no failure.
        """
        self.gate = torch.ones((), device=device)
        """Factor on the loss: 1, or NaN after a failure, so that no update is made any more."""
        self._scaled = scaled
        self._updates: list[Update] = []

    def guard(self, loss: Tensor) -> Tensor:
        """Return the loss; where it or an update before is not finite, its gradient is NaN.

        So it is on every process, once gradients are averaged.
        """
        return loss * self.gate.masked_fill(~loss.detach().isfinite(), math.nan)

    def add(self, update: Update) -> None:
        self._updates.append(update)
        checked = [update.values["total"]] + [update.values[NORM]] * (not self._scaled)
        failed = ~torch.stack([value.float() for value in checked]).isfinite().all()
        self.gate = self.gate.masked_fill(failed, math.nan)

    def read(self, processes: ProcessGroup) -> list[dict[str, float]]:
        """Return the numbers of each update since the last call, as means over all processes.

        Raises:
            RuntimeError: If one is not finite; then nothing was updated from there on.
        """
        if not self._updates:
            return []
        updates, self._updates = self._updates, []
        stacked = torch.stack([torch.stack([*one.values.values()]) for one in updates])
        rows = [
            dict(zip(one.values, row, strict=True))
            for one, row in zip(updates, processes.mean(stacked).tolist(), strict=True)
        ]
        for one, row in zip(updates, rows, strict=True):
            finite = math.isfinite(row["total"]) and (self._scaled or math.isfinite(row[NORM]))
            if not finite:
                raise RuntimeError(
                    f"loss {row['total']}, gradient {row[NORM]} in epoch {one.epoch}, step "
                    f"{one.step}: not finite, nothing was updated; samples: "
                    f"{', '.join(one.samples)}"
                )
        return rows
