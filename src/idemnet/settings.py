"""Kedro's settings for this project."""

import warnings

from idemnet.hooks import ParameterHooks, RunLockHooks

HOOKS = (ParameterHooks(), RunLockHooks())

CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    "config_patterns": {"parameters": ["parameters*", "sources*"]},
    # An environment says only what it sets differently.
    "merge_strategy": {"parameters": "soft", "globals": "soft"},
}

# Kedro 1.7 asks for --pipelines even where there is one; --pipeline says what is meant.
warnings.filterwarnings("ignore", message="Option '--pipeline' is deprecated")
