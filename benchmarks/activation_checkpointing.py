"""What activation checkpointing saves: a training step of the paper's network, with and without.

Two passes of six iterations are unrolled in a step; checkpointing keeps what lies between
iterations and computes the rest again. Promises: at most 0.35x the memory that activations take, at
no more than 1.4x the time, on the CPU. Steps of both are timed in turn; memory is what a process of
its own grows by during a step, after one on a tiny image.
"""

import sys
from functools import partial

import torch
from memory import growth, run
from promise import Promise, note, report, take_turns
from torch import Tensor, nn

from idemnet.models import MODELS
from idemnet.training.loss import idempotent_loss

ROUNDS, SIZE = 5, 128
KINDS = ("plain", "checkpointed")


def build(kind: str) -> nn.Module:
    model: nn.Module = MODELS["idempotent"](checkpoint_iterations=kind == "checkpointed")
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def step(model: nn.Module, image: Tensor) -> None:
    torch.autograd.backward(idempotent_loss(model, image, image)["total"])
    model.zero_grad()


def main() -> None:
    image = torch.rand(1, 3, SIZE, SIZE)
    works = [partial(step, build(kind), image) for kind in KINDS]
    for work in works:
        work()  # libraries load
    note("plain, checkpointed:")
    times = take_turns(ROUNDS, *works)
    plain, checkpointed = (float(run(__file__, kind)) for kind in KINDS)
    note(f"plain {plain:.0f} MB, checkpointed {checkpointed:.0f} MB")
    what = "activation checkpointing, a step of the paper's network on one 128x128 crop"
    report(
        Promise(f"{what}: memory", [checkpointed / plain], at_most=0.35),
        Promise("… time", [longer / shorter for shorter, longer in times], at_most=1.4),
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        model = build(sys.argv[1])
        step(model, torch.rand(1, 3, 16, 16))  # libraries load
        print(growth(lambda: step(model, torch.rand(1, 3, SIZE, SIZE))))
    else:
        main()
