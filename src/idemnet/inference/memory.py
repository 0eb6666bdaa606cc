"""Predict the memory that restoring needs, without computing anything."""

import copy
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

SCRATCH = 1.05
"""Factor for the workspace of convolutions: 1.00 to 1.12 times the tensors were measured on a CPU
(benchmarks/cost_model.py) with freed memory returned to the system, as the command does where
memory is limited."""
MARGIN = 1.5
"""Safety factor where memory is limited: an allocator that keeps freed memory took up to 1.58 times
the tensors."""
ONCE = 64_000_000
"""Bytes that the first restoration of a process allocates once."""


def predict_memory(model: nn.Module, height: int, width: int) -> int:
    """Predict the bytes for restoring one image of this size, without the weights."""
    described = copy.deepcopy(model).to("meta")  # shapes only
    image = torch.empty(1, 3, height, width, device="meta")
    with torch.no_grad():
        return int(SCRATCH * count_alive(lambda: described(image)))


def count_alive(work: Callable[[], object]) -> int:
    """Return the peak bytes of tensors that are alive at the same time."""
    storages = _Storages()
    with storages:
        work()
    return storages.peak


def restoring_memory(model: nn.Module, height: int, width: int) -> int:
    """Return an upper bound of the bytes for restoring one image, without the weights."""
    return int(MARGIN * predict_memory(model, height, width)) + ONCE


class _Storages(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of all tensors that are alive at the same time."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = 0
        self._alive: dict[int, int] = {}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                storage = leaf.untyped_storage()
                if id(storage) not in self._alive:
                    self._alive[id(storage)] = storage.nbytes()
                    weakref.finalize(storage, self._alive.pop, id(storage))
        self.peak = max(self.peak, sum(self._alive.values()))
        return result
