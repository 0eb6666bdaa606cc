"""Kedro's settings for this project."""

import os
import warnings

from idemnet.hooks.parameters import ParameterHooks
from idemnet.hooks.run_lock import RunLockHooks

HOOKS = (ParameterHooks(), RunLockHooks())

# OpenMP threads spin for microseconds while they wait for each other, then sleep. Its default, to
# spin for milliseconds, makes training 60 times slower where other programs use the same cores;
# sleeping at once makes two threads slower than one (benchmarks/threads.py). torch reads it when it
# is imported, so it is set here.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "config_patterns": {"parameters": ["parameters*", "sources*"]},
    # An environment says only what it sets differently.
    "merge_strategy": {"parameters": "soft", "globals": "soft"},
}

# Kedro 1.7 asks for --pipelines even where there is one; --pipeline says what is meant.
warnings.filterwarnings("ignore", message="Option '--pipeline' is deprecated")
