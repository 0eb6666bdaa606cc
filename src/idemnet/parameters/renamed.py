"""Renamed training parameters, and conversion of old names."""

from collections.abc import Iterator, Mapping
from typing import Any

RENAMED = {
    "times": "passes",
    "warmup_epochs": "single_pass_epochs",
    "rise_steps": "warmup_steps",
    "accumulate": "accumulation_steps",
    "average": "ema_decay",
}
"""The new name of each old one, in every group called `train`."""
_OLD = {new: old for old, new in RENAMED.items()}


def with_new_names(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Convert training settings of an older card, checkpoint or run record.

    Args:
        settings: By name; new names stay as they are.
        prefix: Prefix of every name, such as `train.` in a run record.
    """
    renamed = {prefix + old: prefix + new for old, new in RENAMED.items()}
    return {renamed.get(name, name): value for name, value in settings.items()}


def with_old_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with old names, as in fingerprints, so that older trainings are found."""
    return {_OLD.get(name, name): value for name, value in settings.items()}


def find_old_names(parameters: Mapping[str, Any], group: str = "") -> Iterator[str]:
    """List every parameter with an old name, such as `deblur.train.average`, in order of names."""
    for key, value in sorted(parameters.items()):
        path = f"{group}.{key}" if group else str(key)
        if key in RENAMED and group.rpartition(".")[2] == "train":
            yield f"{path} was renamed to {RENAMED[key]}"
        elif isinstance(value, Mapping):
            yield from find_old_names(value, path)
