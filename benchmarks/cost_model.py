"""What restoring is predicted to cost, against what it costs: three sizes, three widths.

Promises: multiply-accumulates exactly, peak memory within 15%. The work is counted anew from the
layers that a real restoration calls; the memory is what a process grows by, in a process for each.
"""

import json
import sys
from typing import Any

import torch
from memory import growth, run
from promise import Promise, note, report
from torch import Tensor, nn

from idemnet.inference.memory import predict_memory
from idemnet.models.cost import count_macs
from idemnet.models.idempotent import IdempotentNet
from idemnet.parameters.network import IdempotentParameters
from idemnet.system.resources import return_freed

WIDTHS, SIZES = (16, 32, 48), ((256, 256), (512, 512), (360, 640))


def count_products(model: nn.Module) -> list[int]:
    """Return a list that takes the products of every convolution that is called from now on."""
    products = []

    def count(layer: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        side = inputs[0] if isinstance(layer, nn.ConvTranspose2d) else output
        pixels = side.shape[0] * side.shape[2] * side.shape[3]
        products.append(pixels * layer.weight.numel())

    for layer in model.modules():
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            layer.register_forward_hook(count)
    return products


@torch.inference_mode()
def measure(width: int, height: int, wide: int) -> dict[str, float]:
    arguments = IdempotentParameters(width=width, iterations=2, residual_scale=0.01)
    model = IdempotentNet(arguments).eval()
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    predicted = {"macs": count_macs(model, height, wide)}
    predicted["memory"] = predict_memory(model, height, wide)
    image = torch.rand(1, 3, height, wide)
    model(image[..., :16, :16])  # load libraries
    products = count_products(model)
    memory = growth(lambda: model(image))
    return {
        "macs": predicted["macs"] / sum(products),
        "memory": predicted["memory"] / 1e6 / memory,
        "megabytes": memory,
    }


def main() -> None:
    macs, memory = [], []
    for width in WIDTHS:
        for height, wide in SIZES:
            one = json.loads(run(__file__, str(width), str(height), str(wide)))
            note(
                f"width {width}, {wide}x{height}: {one['megabytes']:.0f} MB, predicted "
                f"{one['memory']:.3f} of them"
            )
            macs.append(abs(one["macs"] - 1))
            memory.append(abs(one["memory"] - 1))
    report(
        Promise("predicted MACs, largest error of nine", [max(macs)], at_most=0, unit=""),
        Promise(
            "predicted memory where it is limited, largest error of nine",
            [max(memory)],
            at_most=0.15,
            unit="",
        ),
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        return_freed()  # as the command does where memory is limited
        print(json.dumps(measure(*map(int, sys.argv[1:]))))
    else:
        main()
