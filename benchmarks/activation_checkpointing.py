"""What activation checkpointing saves: a training step of the paper's network, with and without.

Two passes of six iterations are unrolled in a step; checkpointing keeps what lies between
iterations and computes the rest again. Promises: at most 0.35x the memory that activations take, at
no more than 1.4x the time. Each is measured in a process of its own, one after the other, on the
CPU; memory is what the process grows by during the steps, after one on a tiny image.
"""

import json
import resource
import subprocess
import sys
import time
from statistics import median

import psutil
import torch

from idemnet.models import MODELS
from idemnet.training.loss import idempotent_loss

ROUNDS, SIZE = 3, 128


def step(checkpointed: bool) -> tuple[float, float]:
    """Make three steps; give the seconds of the fastest and MB that the largest needed."""
    model = MODELS["idempotent"](checkpoint_iterations=checkpointed)
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    small, image = torch.rand(1, 3, 16, 16), torch.rand(1, 3, SIZE, SIZE)
    torch.autograd.backward(idempotent_loss(model, small, small)["total"])  # libraries load
    before = psutil.Process().memory_info().rss
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        torch.autograd.backward(idempotent_loss(model, image, image)["total"])
        model.zero_grad()
        times.append(time.perf_counter() - begun)
    unit = 1 if sys.platform == "darwin" else 1024
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return min(times), (highest - before) / 1e6


def measure(kind: str) -> tuple[float, float]:
    output = subprocess.run([sys.executable, __file__, kind], capture_output=True, check=True)
    seconds, megabytes = json.loads(output.stdout)
    return seconds, megabytes


def main() -> None:
    rows = [(measure("plain"), measure("checkpointed")) for _ in range(ROUNDS)]
    for plain, checkpointed in rows:
        print("  plain {:.2f} s, {:,.0f} MB".format(*plain), end="; ")
        print("checkpointed {:.2f} s, {:,.0f} MB".format(*checkpointed))
    memory = median(checkpointed[1] / plain[1] for plain, checkpointed in rows)
    duration = median(checkpointed[0] / plain[0] for plain, checkpointed in rows)
    print(f"activation checkpointing:    {memory:.2f} of the memory (at most 0.35), ", end="")
    print(f"{duration:.2f} of the time (at most 1.40)")
    assert memory <= 0.35
    assert duration <= 1.4


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(step(sys.argv[1] == "checkpointed")))
    else:
        main()
