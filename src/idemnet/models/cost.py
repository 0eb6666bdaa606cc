"""Cost of a restoration, counted from the layers that run."""

from copy import deepcopy

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def count_macs(model: nn.Module, height: int, width: int) -> int:
    """Count the multiply-accumulates of restoring one image, without computing it.

    Elementwise operations (activations, additions) are not counted, as usual.
    """
    shadow = deepcopy(model).to("meta")
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        shadow(torch.empty(1, 3, height, width, device="meta"))
    return int(counter.get_total_flops()) // 2


def count_parameters(model: nn.Module) -> int:
    """Count the trainable parameters."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
