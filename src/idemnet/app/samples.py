"""Pictures to try the page with: installed packages' photographs, with blur, haze and rain."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from PIL import Image as PillowImage

from idemnet.media.photographs import PHOTOGRAPHS, Photograph
from idemnet.tasks import get_task


@dataclass(frozen=True)
class Sample:
    """A degraded photograph on disk."""

    path: Path
    task: str
    title: str


def make_samples(folder: Path, tasks: Collection[str]) -> list[Sample]:
    """Write the samples of these tasks."""
    samples = []
    for task in map(get_task, tasks):
        for chosen in task.samples:
            path = folder / f"{chosen.title.replace(' ', '_')}.png"
            PillowImage.fromarray(chosen.degrade(photograph(chosen.photograph)())).save(path)
            samples.append(Sample(path, task.name, chosen.title))
    return samples


def photograph(name: str) -> Photograph:
    """Find one of the test photographs, which no training has seen."""
    return next(one for one in PHOTOGRAPHS if one.name == name)


def credit() -> str:
    """Return whose photographs they are, as their licences ask for."""
    used = (photograph(name) for name in ("chelsea", "china"))
    return "; ".join(f"{one.name} by {one.author} ({one.licence})" for one in used)
