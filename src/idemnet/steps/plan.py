"""Results described before they are computed.

A node returns a `Recipe`. The dataset that saves it first compares fingerprints: if what is
published was made from the same parameters and inputs, nothing is computed.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from idemnet.parameters.base import Parameters
from idemnet.storage.executor import Job


@dataclass(frozen=True)
class Plan:
    """A recipe's work, laid out after everything that can be checked beforehand was checked."""

    jobs: Sequence[Job] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the next step needs to know beside the files; part of the manifest."""
    bytes_needed: int = 0
    """Free disk without which there is no sense in starting."""
    uses: Any = None
    """Files that stay where they are: the published folder then only points at them."""


@dataclass(frozen=True)
class Recipe:
    """A result described, not yet computed."""

    fingerprint: str
    plan: Callable[[], Plan]


def fingerprint(step: str, version: int, *parts: Parameters | str | Mapping[str, Any]) -> str:
    """Identify a result by what it is made from.

    Args:
        step: Name of the step.
        version: Raised by whoever changes the step's code so that it gives other bytes.
        parts: Parameters, and fingerprints of inputs.
    """
    plain = [
        part.model_dump(mode="json") if isinstance(part, Parameters) else part for part in parts
    ]
    canonical = json.dumps([step, version, plain], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def flatten(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Return every leaf with its whole key, `train.learning_rate`."""
    for key, value in parameters.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
