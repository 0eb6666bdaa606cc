"""Threads of a training on a CPU: on quiet cores, and with a busy loop on every core.

Promise: `threads: 0`, which takes the idle cores, makes at least as many steps per second as one
thread on quiet cores, and at least 0.6 times as many on busy ones. Stated: all cores, whose OpenMP
threads spin briefly (settings.py) or as long as OpenMP's default, and a larger network. All cores
while they are busy are also what a training with `threads: 0` has that was started on quiet ones.
Each is measured in a process of its own, in turn; results are ratios.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from promise import Promise, note, report

ROUNDS, SECONDS = 3, 4.0
SMALL = "small"
"""The default network and batch; `large`: the paper's width and one 128x128 crop."""
BRIEFLY, SPIN = "spinning briefly", "GOMP_SPINCOUNT"
SETTINGS = {BRIEFLY: {SPIN: "10000"}, "as OpenMP does by default": {}}
CHOSEN = "`threads: 0`"
CASES = {SMALL: (16, 2, 64, 4), "large": (32, 1, 128, 1)}


def measure(case: str, threads: int) -> None:
    """Print the training steps per second of a network with so many threads."""
    import torch  # noqa: PLC0415  # which reads OpenMP's settings

    from idemnet.models import build_network  # noqa: PLC0415
    from idemnet.system.resources import idle_cores  # noqa: PLC0415
    from idemnet.training.loss import idempotent_loss  # noqa: PLC0415

    torch.set_num_threads(threads or max(1, idle_cores()))
    width, downscale, crop, batch = CASES[case]
    model = build_network("idempotent", {"width": width, "iterations": 1, "downscale": downscale})
    images = torch.rand(batch, 3, crop, crop)

    def step() -> None:
        losses = idempotent_loss(model, images, images, passes=2, alphas=(1.0, 1.0))
        torch.autograd.backward(losses["total"])
        model.zero_grad()

    step()
    begun, steps = time.perf_counter(), 0
    while time.perf_counter() < begun + SECONDS:
        step()
        steps += 1
    print(steps / (time.perf_counter() - begun))


def rate(case: str, threads: int, waiting: str = BRIEFLY) -> float:
    command = [sys.executable, __file__, case, str(threads)]
    environment = {name: value for name, value in os.environ.items() if name != SPIN}
    return float(subprocess.check_output(command, env=environment | SETTINGS[waiting]))


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy with a loop."""
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in os.sched_getaffinity(0)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def compare(case: str, where: str) -> dict[str, list[float]]:
    """Return the rates of the chosen threads and of all cores, relative to one thread."""
    cores = len(os.sched_getaffinity(0))
    ways = {CHOSEN: (0, BRIEFLY)} | {f"all cores, {one}": (cores, one) for one in SETTINGS}
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        one = rate(case, 1)
        for way, (threads, waiting) in ways.items():
            found[way].append(rate(case, threads, waiting) / one)
        last = ", ".join(f"{way} {ratios[-1]:.2f}x" for way, ratios in found.items())
        note(f"{case}, {where}: {one:.2f} steps/s with one thread; {last}")
    return found


def main() -> None:
    quiet = {case: compare(case, "quiet") for case in CASES}
    with busy_cores():
        busy = {case: compare(case, "busy") for case in CASES}
    bounds = {"quiet": 1.0, "busy": 0.6}
    rows = []
    for case, network in ((SMALL, "the default network"), ("large", "the paper's layers")):
        for where, found in (("quiet", quiet), ("busy", busy)):
            for way, ratios in found[case].items():
                what = f"{way}, against one thread: {network}, {where} cores"
                bound = bounds[where] if (case, way) == (SMALL, CHOSEN) else None
                rows.append(Promise(what, ratios, at_least=bound))
    report(*rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1], int(sys.argv[2]))
    else:
        main()
