"""The `step` decorator, which makes a node of a function that plans the work.

The node returns a `Recipe` and computes nothing. The dataset that saves it compares fingerprints:
if the published folder was made from the same inputs, there is nothing to do; otherwise it calls
the function for the `Plan` and runs its jobs (steps/publish.py).
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from importlib.metadata import version as package_version
from typing import Any, ParamSpec, Protocol

from idemnet.parameters.base import Parameters
from idemnet.storage.executor import Job

Arguments = ParamSpec("Arguments")


class Input(Protocol):
    """Output of another step, or files from elsewhere."""

    @property
    def fingerprint(self) -> str | Mapping[str, Any]:
        """Return what it is made from or contains: never a path or a time of reading."""


@dataclass(frozen=True)
class Plan:
    """The work of a step, planned after all checks that can be made in advance."""

    jobs: Sequence[Job] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    """Metadata for the next step; part of the manifest."""
    bytes_needed: int = 0
    """Free disk space required to start."""
    uses: Any = None
    """Files used in place: the published folder only refers to them."""


@dataclass(frozen=True)
class Recipe:
    """Description of a result that is not computed yet."""

    fingerprint: str
    plan: Callable[[], Plan]


def step(
    name: str, version: int, *packages: str
) -> Callable[[Callable[Arguments, Plan]], Callable[Arguments, Recipe]]:
    """Make a node of a function that plans the work of a step.

    The function is called only if the result has to be computed, which depends on the fingerprint
    of its arguments: parameters first, then inputs, then keyword arguments; None counts as absent.

    Args:
        name: Name of the step.
        version: Version of its code (steps/versions.py, or the task's file).
        packages: Packages whose releases may change its results.
    """

    def decorate(lay_out: Callable[Arguments, Plan]) -> Callable[Arguments, Recipe]:
        @wraps(lay_out)
        def node(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Recipe:
            inputs = sorted(args, key=lambda argument: not isinstance(argument, Parameters))
            releases = {package: package_version(package) for package in packages} or None
            decisive: list[Any] = [*inputs, *kwargs.values(), releases]
            return Recipe(
                fingerprint(name, version, *(part for part in decisive if part is not None)),
                partial(lay_out, *args, **kwargs),
            )

        return node

    return decorate


def fingerprint(
    step: str, version: int, *parts: Parameters | Input | str | Mapping[str, Any]
) -> str:
    """Identify a result by what it is made from.

    Args:
        step: Name of the step.
        version: Version of the step's code; raise it when the results change.
        parts: Parameters, and inputs or their identities.
    """
    plain = [_identity(part) for part in parts]
    canonical = json.dumps([step, version, plain], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _identity(part: Parameters | Input | str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    if isinstance(part, Parameters):
        return part.model_dump(mode="json")
    return part if isinstance(part, str | Mapping) else part.fingerprint


def flatten(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf with its full key, `train.learning_rate`."""
    for key, value in parameters.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
