"""Cost of a restoration: parameters, MACs, seconds and memory."""

import threading
import time
from typing import Any

import numpy as np
import psutil
import torch
from torch import nn

from idemnet.models.cost import count_macs, count_parameters
from idemnet.system.device import name_device, synchronise

SIZES = {"1280x720": (720, 1280), "256x256": (256, 256)}
RUNS, PATIENCE = 20, 10.0
"""Number of timed restorations, and the total seconds after which timing stops."""


@torch.no_grad()
def measure_cost(model: nn.Module, height: int, width: int, device: str) -> dict[str, Any]:
    """Time repeated restorations of a random image, synchronised, after a warm-up."""
    image = torch.rand(1, 3, height, width, generator=torch.Generator().manual_seed(0)).to(device)
    peak = _peak_memory(model, image, device)
    times: list[float] = []
    while len(times) < 3 or (len(times) < RUNS and sum(times) < PATIENCE):
        synchronise(device)
        begun = time.perf_counter()
        model(image)
        synchronise(device)
        times.append(time.perf_counter() - begun)
    median, p95 = np.quantile(times, (0.5, 0.95)).tolist()
    return {
        "parameters": count_parameters(model),
        "macs": {name: count_macs(model, *size) for name, size in SIZES.items()},
        "seconds": {
            "median": median,
            "p95": p95,
            "runs": len(times),
            "height": height,
            "width": width,
        },
        "peak_memory_mb": peak / 1e6,
        "device": device,
        "device_name": name_device(device),
    }


def _peak_memory(model: nn.Module, image: torch.Tensor, device: str) -> float:
    """Return the bytes that a restoration needs in addition to the weights; doubles as warm-up."""
    if device == "cuda":
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        model(image)
        synchronise(device)
        return float(torch.cuda.max_memory_allocated() - before)
    process, ended = psutil.Process(), threading.Event()
    before = highest = process.memory_info().rss

    def watch() -> None:
        nonlocal highest
        while not ended.wait(0.001):
            highest = max(highest, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        model(image)
        synchronise(device)
    finally:
        ended.set()
        watcher.join()
    return float(highest - before)
