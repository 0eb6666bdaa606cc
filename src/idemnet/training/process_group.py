"""Process group of a training, and the rank of this process."""

import io
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class ProcessGroup:
    """Rank of a process in its process group."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @property
    def is_main_process(self) -> bool:
        """Return whether this process records the training."""
        return self.rank == 0

    @property
    def is_local_main(self) -> bool:
        """Return whether this process saves checkpoints: one does on each machine."""
        return self.local_rank == 0

    def share(self, objective: nn.Module, *, compiled: bool) -> nn.Module:
        """Wrap a module with DDP and, if requested, torch.compile."""
        if self.size > 1:
            objective = DistributedDataParallel(objective)
        if compiled:
            objective.compile()
        return objective

    def highest(self, values: list[int]) -> list[int]:
        """Return the maximum of each value over all processes, so that all decide alike."""
        if self.size == 1:
            return values
        tensor = torch.tensor(values)
        dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return [int(value) for value in tensor]

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of each value over all processes."""
        if self.size == 1:
            return values
        values = values.double()
        dist.all_reduce(values)
        return values / self.size

    def broadcast(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return what rank 0 gives, on every process; others give an empty dictionary."""
        if self.size == 1:
            return content
        buffer = io.BytesIO()
        if self.is_main_process:
            torch.save(content, buffer)
        length = torch.tensor(buffer.tell())
        dist.broadcast(length, src=0)
        data = bytearray(buffer.getvalue()) or bytearray(int(length))
        dist.broadcast(torch.frombuffer(data, dtype=torch.uint8), src=0)
        received = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        return content or received


def gradient_exchange(objective: nn.Module, *, now: bool) -> AbstractContextManager[None]:
    """Return a context in which backward averages gradients over the process group, or only sums.

    Args:
        objective: As shared.
        now: False for all parts of a batch but the last.
    """
    if isinstance(objective, DistributedDataParallel) and not now:
        return objective.no_sync()
    return nullcontext()
