"""The processes that train together, and one's place among them."""

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class ProcessGroup:
    """A process's place among all that train together."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @property
    def is_main_process(self) -> bool:
        """Whether this process writes the record of the training."""
        return self.rank == 0

    @property
    def is_local_main(self) -> bool:
        """Whether it saves checkpoints: one process on each machine, so that none needs another."""
        return self.local_rank == 0

    def share(self, objective: nn.Module, *, compiled: bool) -> nn.Module:
        """Average gradients over the process group, and the whole compiled if asked for."""
        if self.size > 1:
            objective = DistributedDataParallel(objective)
        if compiled:
            objective.compile()
        return objective

    def highest(self, values: list[int]) -> list[int]:
        """Return the largest of each value over all processes, so that all decide alike."""
        if self.size == 1:
            return values
        tensor = torch.tensor(values)
        if dist.get_backend() == "nccl":
            tensor = tensor.cuda()
        dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return [int(value) for value in tensor]

    def mean(self, values: dict[str, float]) -> dict[str, float]:
        if self.size == 1:
            return values
        tensor = torch.tensor(list(values.values()), dtype=torch.float64)
        if dist.get_backend() == "nccl":
            tensor = tensor.cuda()
        dist.all_reduce(tensor)
        return dict(zip(values, (tensor / self.size).tolist(), strict=True))
