"""Load of the machine while it trains, as MLflow measures and names it."""

import importlib
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from idemnet.tracking.store import configure


def system_monitor() -> Callable[[], Mapping[str, float]]:
    """Return what measures CPU, memory, disk, network and GPU, if MLflow is told to log them.

    It is called whenever something is logged, and measures every ten seconds, or as often as
    MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL says. Values go through the journal like all others:
    MLflow's own thread would lose them while the server is down.
    """
    if os.environ.get("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "").lower() not in ("true", "1"):
        return dict
    configure()
    kinds: Any = importlib.import_module("mlflow.system_metrics.system_metrics_monitor")
    monitors = [kinds.CPUMonitor(), kinds.DiskMonitor(), kinds.NetworkMonitor()]
    for gpu in (kinds.GPUMonitor, kinds.ROCMMonitor):
        with suppress(Exception):  # no such GPU, or no package that asks it
            monitors.append(gpu())
    interval = float(os.environ.get("MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", "10"))
    last = time.monotonic()

    def measure() -> dict[str, float]:
        nonlocal last
        if time.monotonic() < last + interval:
            return {}
        last = time.monotonic()
        values: dict[str, float] = {}
        for monitor in monitors:
            monitor.collect_metrics()
            values |= monitor.aggregate_metrics()
            monitor.clear_metrics()
        return {f"system/{name}": value for name, value in values.items()}

    return measure
