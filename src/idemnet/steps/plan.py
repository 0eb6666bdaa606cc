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


class Published(Protocol):
    """Published output of another step."""

    @property
    def fingerprint(self) -> str: ...


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
    of its arguments: parameters and outputs of other steps.

    Args:
        name: Name of the step.
        version: Version of its code (steps/versions.py, or the task's file).
        packages: Packages whose releases may change its results.
    """

    def decorate(lay_out: Callable[Arguments, Plan]) -> Callable[Arguments, Recipe]:
        @wraps(lay_out)
        def node(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Recipe:
            arguments: list[Any] = [*args, *kwargs.values()]
            arguments.sort(key=lambda argument: not isinstance(argument, Parameters))
            releases = {package: package_version(package) for package in packages}
            return Recipe(
                fingerprint(name, version, *arguments, *([releases] if releases else [])),
                partial(lay_out, *args, **kwargs),
            )

        return node

    return decorate


def fingerprint(
    step: str, version: int, *parts: Parameters | Published | str | Mapping[str, Any]
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


def _identity(part: Parameters | Published | str | Mapping[str, Any]) -> str | Mapping[str, Any]:
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
