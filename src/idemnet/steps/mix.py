"""Mixed data: several data sets that are prepared side by side and trained on together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Generic, Protocol, TypeVar

from idemnet.parameters.base import Parameters
from idemnet.steps import versions
from idemnet.steps.plan import Recipe, fingerprint

Data = TypeVar("Data")
Group = TypeVar("Group", bound=Parameters)


@dataclass(frozen=True)
class Part(Generic[Data]):
    """One data set of a mix."""

    data: Data
    weight: float
    """Its share of the training patches, against those of the others."""
    changes: Mapping[str, Mapping[str, Any]]
    """By step, the parameters that are set differently for it."""


@dataclass(frozen=True)
class Mix(Generic[Data]):
    """Several data sets by name, in the order of their names."""

    dataset: str
    """Name of the whole."""
    parts: Mapping[str, Part[Data]]

    def about(self) -> dict[str, Any]:
        """Return what a manifest says of it, beside the parts' own manifests."""
        parts = {
            name: {"weight": part.weight, "changes": part.changes}
            for name, part in self.parts.items()
        }
        return {"dataset": self.dataset, "mix": parts}


class Mixable(Protocol[Data]):
    """Data of one source, or of several."""

    @property
    def mix(self) -> Mix[Data] | None: ...


def for_each_source(
    name: str,
) -> Callable[
    [Callable[[Any, Group], Recipe]], Callable[[Mixable[Any], Group], Recipe | Mix[Recipe]]
]:
    """Let a step work on every data set of a mix by itself, with what is set for it.

    A decorator above `@step`, so that the node can be pickled by its name, as ParallelRunner does.

    Args:
        name: Group of parameters that may be set differently for a data set.
    """

    def decorate(
        step: Callable[[Any, Group], Recipe],
    ) -> Callable[[Mixable[Any], Group], Recipe | Mix[Recipe]]:
        @wraps(step)
        def node(data: Mixable[Any], parameters: Group) -> Recipe | Mix[Recipe]:
            if data.mix is None:
                return step(data, parameters)
            parts = {
                source: replace(
                    part, data=step(part.data, parameters.changed(part.changes.get(name, {})))
                )
                for source, part in data.mix.parts.items()
            }
            return Mix(data.mix.dataset, parts)

        return node

    return decorate


def identify(mix: Mix[Recipe]) -> str:
    """Return the fingerprint of a mix: of its parts, and of what is said of them."""
    parts = {name: part.data.fingerprint for name, part in mix.parts.items()}
    return fingerprint("mix", versions.FETCH, parts, mix.about())


def source_of(sequence: str) -> str:
    """Return the source of a sequence of mixed data."""
    return sequence.partition("/")[0]
