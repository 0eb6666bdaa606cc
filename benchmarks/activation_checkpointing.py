"""What activation checkpointing saves: a training step of the paper's network, with and without.

Two passes of six iterations are unrolled in a step; checkpointing keeps what lies between
iterations and computes the rest again. Promises: at most 0.35x the memory that activations take, at
no more than 1.4x the time, on the CPU. Processes of both take turns, as a training has a process of
its own: where one leaves the heap in pieces, the other's backward pass takes a third longer. Memory
is what the process grows by during its first step, after one on a tiny image.
"""

import sys
from statistics import median

import torch
from memory import growth, run
from promise import Promise, note, report, timed
from torch import Tensor, nn

from idemnet.models import MODELS
from idemnet.training.loss import idempotent_loss

ROUNDS, STEPS, SIZE = 3, 2, 128
KINDS = ("plain", "checkpointed")


def build(kind: str) -> nn.Module:
    model: nn.Module = MODELS["idempotent"](checkpoint_iterations=kind == "checkpointed")
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def step(model: nn.Module, image: Tensor) -> None:
    torch.autograd.backward(idempotent_loss(model, image, image)["total"])
    model.zero_grad()


def measure(kind: str) -> None:
    """Print the MB and the seconds of a step in this process."""
    model, image = build(kind), torch.rand(1, 3, SIZE, SIZE)
    step(model, torch.rand(1, 3, 16, 16))  # libraries load
    memory = growth(lambda: step(model, image))
    print(memory, median(timed(lambda: step(model, image)) for _ in range(STEPS)))


def main() -> None:
    memory, time = [], []
    for number in range(ROUNDS):
        turn = KINDS if number % 2 == 0 else KINDS[::-1]
        found = {kind: [float(one) for one in run(__file__, kind).split()] for kind in turn}
        for kind in KINDS:
            note("{}: {:.0f} MB, {:.2f} s".format(kind, *found[kind]))
        plain, checkpointed = (found[kind] for kind in KINDS)
        memory.append(checkpointed[0] / plain[0])
        time.append(checkpointed[1] / plain[1])
    what = "activation checkpointing, a step of the paper's network on one 128x128 crop"
    report(Promise(f"{what}: memory", memory, at_most=0.35), Promise("… time", time, at_most=1.4))


if __name__ == "__main__":
    measure(sys.argv[1]) if sys.argv[1:] else main()
