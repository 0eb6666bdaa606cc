"""What activation checkpointing saves: a training step of the paper's network, with and without.

Two passes of six iterations are unrolled in a step; checkpointing keeps what lies between
iterations and computes the rest again. Promises: at most 0.35x the memory that activations take, at
no more than 1.4x the time, on the CPU. Each has a process of its own, as a training has: where one
leaves the heap in pieces, the other's backward pass takes a third longer. The two take turns, step
by step. Memory is what a process grows by during its first step, after one on a tiny image.
"""

import sys
from collections.abc import Callable
from functools import partial

import torch
from memory import growth
from promise import Promise, note, report, take_turns
from torch import Tensor, nn
from worker import Worker, serve

from idemnet.models.idempotent import IdempotentNet
from idemnet.parameters.network import IdempotentParameters
from idemnet.training.loss import idempotent_loss

ROUNDS, SIZE = 5, 128
KINDS = ("plain", "checkpointed")


def build(kind: str) -> nn.Module:
    model = IdempotentNet(IdempotentParameters())
    model.checkpoint_iterations = kind == "checkpointed"
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def step(model: nn.Module, image: Tensor) -> None:
    torch.autograd.backward(idempotent_loss(model, image, image)["total"])
    model.zero_grad()


def answer_for(kind: str) -> None:
    """Answer "memory" with the MB of a first step, and "step" by taking one."""
    model, image = build(kind), torch.rand(1, 3, SIZE, SIZE)
    step(model, torch.rand(1, 3, 16, 16))  # load libraries
    works: dict[str, Callable[[], object]] = {
        "memory": lambda: growth(works["step"]),
        "step": lambda: step(model, image),
    }
    serve(lambda word: works[word]())


def main() -> None:
    workers = [Worker(__file__, kind) for kind in KINDS]
    plain, ours = (float(worker("memory")) for worker in workers)
    note(f"{plain:.0f} MB, {ours:.0f} MB with checkpointing")
    times = take_turns(ROUNDS, *(partial(worker, "step") for worker in workers))
    report(
        Promise(
            "activation checkpointing, a step of the paper's network on one 128x128 crop: memory",
            [ours / plain],
            at_most=0.35,
        ),
        Promise("… time", [ours / plain for plain, ours in times], at_most=1.4),
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        answer_for(sys.argv[1])
    else:
        main()
