"""Two training processes against one: are the gradients the same, and how much faster is it?

Promise: gradients that two processes compute of a batch, half each, are those that one computes of
the whole (relative to the largest, at most 1e-4). Throughput is stated: on two cores one process
with two threads may well be as fast as two with one.
"""

import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from promise import Promise, note, report, timed
from torch import Tensor
from torch.multiprocessing import spawn  # type: ignore[attr-defined]

from idemnet.models import build_network
from idemnet.parameters.train import TrainParameters
from idemnet.training.loop import Objective
from idemnet.training.process_group import ProcessGroup

ROUNDS, STEPS, BATCH, SIZE = 3, 4, 8, 64
NETWORK = {"width": 16, "iterations": 2}


def make_batch() -> tuple[Tensor, Tensor]:
    images = torch.rand(2, BATCH, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(1))
    return images[0], images[1]


def train(place: str, processes: ProcessGroup, threads: int) -> None:
    """Compute gradients several times; keep them and the pictures per second."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = build_network("idempotent", NETWORK)
    objective = processes.share(Objective(model, TrainParameters()), compiled=False)
    mine = [part.chunk(processes.size)[processes.rank] for part in make_batch()]

    def steps(count: int) -> None:
        for _ in range(count):
            model.zero_grad()
            objective(*mine, 2)["total"].backward()

    steps(1)  # load libraries
    seconds = timed(lambda: steps(STEPS))
    if processes.is_main_process:
        found = [one.grad.flatten() for one in model.parameters() if one.grad is not None]
        gradients = torch.cat(found)
        torch.save({"gradients": gradients, "rate": STEPS * BATCH / seconds}, place)


def member(rank: int, place: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "RANK": str(rank), "WORLD_SIZE": "2"}
    dist.init_process_group("gloo", init_method=f"file://{place}.meeting", rank=rank, world_size=2)
    try:
        train(place, ProcessGroup(rank, 2, rank), 1)
    finally:
        dist.destroy_process_group()


def main() -> None:
    rates, differences = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            one, two = (str(Path(folder, f"{name}_{number}")) for name in ("one", "two"))
            train(one, ProcessGroup(), 2)
            spawn(member, args=(two,), nprocs=2)  # type: ignore[no-untyped-call]
            alone, together = (torch.load(place, weights_only=True) for place in (one, two))
            note(f"{alone['rate']:.1f} crops/s in one process, {together['rate']:.1f} in two")
            rates.append(together["rate"] / alone["rate"])
            error = (alone["gradients"] - together["gradients"]).abs().max()
            differences.append(float(error / alone["gradients"].abs().max()))
    report(
        Promise(
            "gradients of two training processes, against one: largest difference",
            differences,
            at_most=1e-4,
            unit="",
        ),
        Promise("… crops per second of two processes of one thread, against one of two", rates),
    )


if __name__ == "__main__":
    main()
