"""Everything that sets one task apart from the others."""

from collections.abc import Callable
from dataclasses import dataclass

from idemnet.imaging.image import Image
from idemnet.parameters.task import TaskParameters
from idemnet.steps.plan import Recipe


@dataclass(frozen=True)
class Words:
    """What a task calls itself and its images."""

    title: str
    degraded: str
    clean: str
    level: str = "strength"
    """What a level counts."""


@dataclass(frozen=True)
class Sample:
    """A picture to try the page with: one of the built-in test photographs, degraded."""

    photograph: str
    title: str
    degrade: Callable[[Image], Image]


@dataclass(frozen=True)
class Task:
    """One task; the file that defines it is named after it."""

    name: str
    verb: str
    """What the page's button promises."""
    words: Words
    parameters: type[TaskParameters]
    synthesize: Callable[..., Recipe]
    """The node function: raw data and `synthesize` parameters to pairs."""
    protocols: tuple[str, ...] = ("rgb",)
    """By which results are scored, the usual one first."""
    samples: tuple[Sample, ...] = ()
