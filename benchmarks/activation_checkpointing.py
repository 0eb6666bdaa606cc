"""What activation checkpointing saves: a training step of the paper's network, with and without.

Two passes of six iterations are unrolled in a step; checkpointing keeps what lies between
iterations and computes the rest again. Promises: at most 0.35x the memory that activations take, at
no more than 1.4x the time. Each is measured in a process of its own, one after the other, on the
CPU; memory is what the process grows by during the steps, after one on a tiny image.
"""

import json
import sys
import time

import torch
from memory import growth, run
from promise import Promise, note, report

from idemnet.models import MODELS
from idemnet.training.loss import idempotent_loss

ROUNDS, SIZE = 3, 128


def step(checkpointed: bool) -> tuple[float, float]:
    """Make three steps; give the seconds of the fastest and MB that the largest needed."""
    model = MODELS["idempotent"](checkpoint_iterations=checkpointed)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    small, image = torch.rand(1, 3, 16, 16), torch.rand(1, 3, SIZE, SIZE)
    torch.autograd.backward(idempotent_loss(model, small, small)["total"])  # libraries load
    times = []

    def steps() -> None:
        for _ in range(3):
            begun = time.perf_counter()
            torch.autograd.backward(idempotent_loss(model, image, image)["total"])
            model.zero_grad()
            times.append(time.perf_counter() - begun)

    megabytes = growth(steps)
    return min(times), megabytes


def measure(kind: str) -> tuple[float, float]:
    seconds, megabytes = json.loads(run(__file__, kind))
    return seconds, megabytes


def main() -> None:
    rows = [(measure("plain"), measure("checkpointed")) for _ in range(ROUNDS)]
    for plain, checkpointed in rows:
        note(
            "plain {:.2f} s, {:,.0f} MB; checkpointed {:.2f} s, {:,.0f} MB".format(
                *plain, *checkpointed
            )
        )
    what = "activation checkpointing, a step of the paper's network on one 128x128 crop"
    report(
        Promise(f"{what}: memory", [b[1] / a[1] for a, b in rows], at_most=0.35),
        Promise("… time", [b[0] / a[0] for a, b in rows], at_most=1.4),
    )


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(step(sys.argv[1] == "checkpointed")))
    else:
        main()
