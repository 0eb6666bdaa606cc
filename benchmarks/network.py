"""Restoring 512x512 with the paper's network, against the same network as one would first write it.

Promise: at least 1.25x as fast, on the CPU in 32 bits, and no value differs by more than 1e-4. The
plain one is eager torch in the default layout with a new tensor for every result; ours is what
`idemnet restore` does, conversions included.
"""

import torch
from promise import Promise, note, report, take_turns
from torch import Tensor, nn

from idemnet.inference.restore import restore
from idemnet.models.blocks import ResidualBlock
from idemnet.models.idempotent import FusingBlock, IdempotentNet
from idemnet.parameters.network import IdempotentParameters
from idemnet.parameters.restore import RestoreParameters

ROUNDS, SIZE = 3, 512


class PlainBlock(nn.Module):
    def __init__(self, block: ResidualBlock) -> None:
        super().__init__()
        self.body = block.body

    def forward(self, features: Tensor) -> Tensor:
        residual: Tensor = self.body(features)
        return features + residual


class PlainFusing(nn.Module):
    def __init__(self, block: FusingBlock) -> None:
        super().__init__()
        self.body = block.body

    def forward(self, upsampled: Tensor, skipped: Tensor) -> Tensor:
        residual: Tensor = self.body(torch.cat([upsampled, skipped], 1))
        return upsampled + residual


def build() -> IdempotentNet:
    torch.manual_seed(0)
    return IdempotentNet(IdempotentParameters(residual_scale=0.01)).eval()


def make_plain(module: nn.Module) -> None:
    """Have nothing done in place."""
    for name, child in module.named_children():
        make_plain(child)
        if isinstance(child, nn.ReLU):
            child.inplace = False
        elif isinstance(child, ResidualBlock):
            setattr(module, name, PlainBlock(child))
        elif isinstance(child, FusingBlock):
            setattr(module, name, PlainFusing(child))


def main() -> None:
    plain, ours = build(), build()
    make_plain(plain)
    ours.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    image = torch.rand(1, 3, SIZE, SIZE)
    pixels, how = image[0].permute(1, 2, 0).contiguous().numpy(), RestoreParameters()
    with torch.no_grad():
        expected = plain(image)[0].clamp(0, 1)
        restored = torch.from_numpy(restore(ours, pixels, how, "cpu")).permute(2, 0, 1)
        difference = float((restored - expected).abs().max())
        note("plain, ours:")
        rows = take_turns(ROUNDS, lambda: plain(image), lambda: restore(ours, pixels, how, "cpu"))
    report(
        Promise(
            "restoring 512x512 with the paper's network, against plain eager: speed",
            [one / own for one, own in rows],
            at_least=1.25,
        ),
        Promise("… and the largest difference", [difference], at_most=1e-4, unit=""),
    )


if __name__ == "__main__":
    main()
