"""Definition of a task."""

from collections.abc import Callable
from dataclasses import dataclass

from idemnet.imaging.image import Image
from idemnet.parameters.task import TaskParameters
from idemnet.steps.mix import Mix
from idemnet.steps.plan import Recipe


@dataclass(frozen=True)
class Words:
    """Display names of a task and its images."""

    title: str
    degraded: str
    clean: str
    level: str = "strength"
    """Meaning of a level."""


@dataclass(frozen=True)
class Sample:
    """A sample picture for the page: a degraded test photograph."""

    photograph: str
    title: str
    degrade: Callable[[Image], Image]


@dataclass(frozen=True)
class Task:
    """A task, defined in a file of its name."""

    name: str
    verb: str
    """Label of the task on the page."""
    words: Words
    parameters: type[TaskParameters]
    synthesize: Callable[..., Recipe | Mix[Recipe]]
    """Node function from raw data and `synthesize` parameters to pairs."""
    protocols: tuple[str, ...] = ("rgb",)
    """Scoring protocols, the default first."""
    samples: tuple[Sample, ...] = ()
