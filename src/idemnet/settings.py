"""Kedro's settings for this project."""

import os
import warnings

from idemnet.hooks.cluster import ClusterHooks
from idemnet.hooks.failed_cells import FailedCellsHooks
from idemnet.hooks.outer_launcher import OuterLauncherHooks
from idemnet.hooks.parameters import ParameterHooks
from idemnet.hooks.run_lock import RunLockHooks
from idemnet.hooks.tracking import TrackingHooks
from idemnet.hooks.viz_sizes import VizSizesHooks

# Called in reverse: who only joins a training locks nothing, and the folders are free before
# anything is pushed.
HOOKS = (
    FailedCellsHooks(),
    VizSizesHooks(),
    TrackingHooks(),
    ParameterHooks(),
    RunLockHooks(),
    OuterLauncherHooks(),
    ClusterHooks(),
)

# OpenMP threads spin for microseconds while they wait for each other, then sleep. The default,
# spinning for milliseconds, makes training 60 times slower if other programs use the same cores;
# sleeping at once makes two threads slower than one (benchmarks/threads.py). Set here because torch
# reads it on import.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    # An environment contains only what it changes.
    "merge_strategy": {"parameters": "soft", "globals": "soft"},
}

# Kedro 1.7 prefers --pipelines even for a single one; --pipeline is clearer.
warnings.filterwarnings("ignore", message="Option '--pipeline' is deprecated")
