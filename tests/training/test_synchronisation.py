"""Nothing waits for the device between logged steps, and a batch's gradients are exchanged once."""

import multiprocessing

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from idemnet.training.launch import create_state, launch
from idemnet.training.loader import open_loader
from idemnet.training.loop import LOG_STEPS, Objective, update
from idemnet.training.pending import PendingUpdates
from idemnet.training.process_group import ProcessGroup

from .tiny import RandomPatches, Record, make_job

WAITING = {getattr(torch.Tensor, name) for name in ("tolist", "numpy", "cpu", "__array__")}
"""Methods that fetch a whole tensor; all that fetch one number are one operation."""


class CountFetched(TorchDispatchMode):
    """Counts numbers that were fetched from tensors: item, float, bool, ..."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


class CountCalls(TorchFunctionMode):
    """Counts tensors that were fetched as a whole."""

    count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += func in WAITING
        return func(*args, **(kwargs or {}))


def test_a_logged_step_waits_for_the_device_once_and_the_others_never(tmp_path):
    counts = {}

    class Counting(Record):
        def log(self, step, values):
            counts[step] = fetched.count + calls.count
            super().log(step, values)

    # The EMA looks at a counter of its own, which is on the CPU.
    settings = {"epochs": 1, "passes": 1, "ema_decay": 0, "checkpoint_steps": 1000, "batch_size": 1}
    network = {"idempotent": {"width": 2, "iterations": 1}}
    patches = RandomPatches(2 * LOG_STEPS + 1)
    with CountFetched() as fetched, CountCalls() as calls:
        launch(make_job(tmp_path, patches, Counting(), network=network, **settings))
    assert counts[2 * LOG_STEPS] - counts[LOG_STEPS] == 1


def test_what_would_wait_is_counted():
    with CountFetched() as fetched, CountCalls() as calls:
        number = torch.ones(())
        float(number), bool(number), number.item()
        number.tolist(), number.cpu()
    assert (fetched.count, calls.count) == (3, 2)


def count_exchanges(folder, rank: int, parts: int, counts) -> None:
    """Make one update of two processes; report how often gradients were exchanged for it."""
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    job = make_job(folder, accumulation_steps=parts, processes=2)
    state, processes = create_state(job), ProcessGroup(rank, 2, rank)
    objective = processes.share(Objective(state.model, job.parameters), compiled=False)
    exchanged = []

    def exchange(_, bucket):
        exchanged.append(bucket.index())
        return allreduce_hook(dist.group.WORLD, bucket)

    objective.register_comm_hook(None, exchange)
    batch = next(iter(open_loader(job, 0, rank, 2)))
    update(objective, state, batch, job, PendingUpdates("cpu", scaled=False))
    counts.put((len(exchanged), sum(float(one.sum()) for one in state.model.parameters())))
    dist.destroy_process_group()


def test_parts_of_a_batch_exchange_gradients_once(tmp_path):
    context = multiprocessing.get_context("forkserver")
    counts = context.Queue()
    pair = [
        context.Process(target=count_exchanges, args=(tmp_path, rank, 2, counts))
        for rank in range(2)
    ]
    for process in pair:
        process.start()
    (first, weights), (second, same_weights) = counts.get(timeout=120), counts.get(timeout=120)
    for process in pair:
        process.join()
    assert first == second == 1
    assert weights == same_weights
