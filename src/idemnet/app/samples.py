"""Sample pictures for the page: photographs from installed packages, degraded."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from PIL import Image as PillowImage

from idemnet.media.photographs import PHOTOGRAPHS, Photograph
from idemnet.tasks import get_task


@dataclass(frozen=True)
class SampleFile:
    """A degraded photograph on disk."""

    path: Path
    task: str
    title: str


def make_samples(folder: Path, tasks: Collection[str]) -> list[SampleFile]:
    """Write the samples of some tasks."""
    samples = []
    for task in map(get_task, tasks):
        for chosen in task.samples:
            path = folder / f"{chosen.title.replace(' ', '_')}.png"
            PillowImage.fromarray(chosen.degrade(photograph(chosen.photograph)())).save(path)
            samples.append(SampleFile(path, task.name, chosen.title))
    return samples


def photograph(name: str) -> Photograph:
    """Return a photograph of the test split, which is never trained on."""
    return next(one for one in PHOTOGRAPHS if one.name == name)


def credit() -> str:
    """Return the attribution that the licences require."""
    used = (photograph(name) for name in ("chelsea", "china"))
    return "; ".join(f"{one.name} by {one.author} ({one.licence})" for one in used)
