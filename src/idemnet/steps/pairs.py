"""Plan pairs: ready-made ones, and degraded versions of frames."""

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from idemnet.errors import BadInputError
from idemnet.imaging.blur import frames_averaged
from idemnet.imaging.image import FrameSequence, Image, StoredImage
from idemnet.steps.data import RawData
from idemnet.steps.layouts import Place, place_files
from idemnet.steps.plan import Plan
from idemnet.storage.executor import Job

ROLES: Mapping[str, tuple[str, str]] = {
    "gopro": ("blur", "sharp"),
    "reside": ("hazy", "clear"),
    "flat": ("input", "target"),
}
"""Roles of degraded and clean images, by layout."""
RESIDE_BORDER = 10
"""Extra border of RESIDE's clear images on each side, in pixels."""

Degrade = Callable[[Image, float, np.random.Generator], Image]
"""Takes a clean image and a strength, 0 to 1."""


@dataclass(frozen=True)
class Versions:
    """Frames of a sequence, each to be degraded several times.

    The range of strengths is divided among the levels, and each level draws from its part: together
    they cover the range evenly, and level 1 is the lightest.
    """

    sequence: FrameSequence
    frames: tuple[int, ...]
    """Ascending."""
    word: str
    """Name of degraded images in file names."""
    levels: int
    seed: int
    degrade: Degrade

    @property
    def names(self) -> tuple[str, ...]:
        levels = range(self.levels + 1)
        return tuple(self.name(frame, level) for frame in self.frames for level in levels)

    def name(self, frame: int, level: int) -> str:
        """Return the file name of a frame at a level; 0 is the clean one."""
        folder = f"{self.word}_{level:02d}" if level else "clean"
        return (
            f"{self.sequence.split}/{self.sequence.name}/{folder}/{self.sequence.frames[frame]}.png"
        )

    def make(self, wanted: Collection[str]) -> Iterator[tuple[str, Image]]:
        """Yield the wanted versions, reading forward once; each has its own seed."""
        first, last = self.frames[0], self.frames[-1]
        for frame, clean in enumerate(self.sequence.read(first, last + 1), first):
            if frame not in self.frames:
                continue
            for level in range(self.levels + 1):
                name = self.name(frame, level)
                if name in wanted:
                    yield name, self._version(clean, level, name) if level else clean

    def _version(self, clean: Image, level: int, name: str) -> Image:
        rng = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
        return self.degrade(clean, (level - 1 + rng.random()) / self.levels, rng)


def about_pairs(raw: RawData, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the metadata of pairs for the next steps."""
    return {"pairs": rows, **({"dataset": raw.dataset} if raw.dataset else {})}


def plan_versions(raw: RawData, all_versions: Iterable[Versions]) -> Plan:
    """Plan the work, one job per sequence."""
    jobs, rows = [], []
    for versions in all_versions:
        jobs.append(Job(versions.names, versions.make))
        size = versions.sequence.size()
        rows += [
            describe_pair(
                versions.sequence,
                size,
                frame,
                level,
                degraded=versions.name(frame, level),
                clean=versions.name(frame, 0),
            )
            for frame in versions.frames
            for level in range(1, versions.levels + 1)
        ]
    return Plan(jobs, about_pairs(raw, rows))


def describe_pair(
    sequence: FrameSequence,
    size: tuple[int, int],
    frame: int,
    level: int,
    *,
    degraded: str,
    clean: str,
) -> dict[str, Any]:
    """Return the metadata of a pair made from a frame."""
    height, width = size
    return {
        "split": sequence.split,
        "sequence": sequence.name,
        "frame": sequence.frames[frame],
        "level": level,
        "height": height,
        "width": width,
        "degraded": degraded,
        "clean": clean,
    }


def plan_ready_pairs(raw: RawData, roles: Mapping[str, tuple[str, str]] = ROLES) -> Plan:
    """Plan to use a data set's pairs in place, after checking every one.

    Raises:
        BadInputError: Naming the images without a partner, or with one of another size.
    """
    degraded_role, clean_role = roles[raw.layout]
    places = place_files(raw.images, raw.layout, "raw data")  # type: ignore[arg-type]
    degraded = [place for place in places if place.role == degraded_role]
    clean = [place for place in places if place.role == clean_role]
    partners = {_partner_key(place, raw.layout): place for place in clean}
    wanted = {_partner_key(place, raw.layout) for place in degraded}
    alone = [place for place in degraded if _partner_key(place, raw.layout) not in partners]
    alone += [place for place in clean if _partner_key(place, raw.layout) not in wanted]
    faults = [f"{place.name} has no partner" for place in alone]
    faults += _named_twice(degraded) + _named_twice(clean)
    rows = []
    for place in degraded:
        partner = partners.get(_partner_key(place, raw.layout))
        if partner is not None:
            size = raw.images[partner.name].size()
            rows.append(_describe_ready(place, raw.images[place.name], partner, size, raw.layout))
            faults += _misfit(rows[-1], size)
    if faults:
        more = f" and {len(faults) - 10} more" if len(faults) > 10 else ""
        raise BadInputError(f"{len(faults)} pairs do not fit: {'; '.join(faults[:10])}{more}")
    return Plan(about=about_pairs(raw, rows), uses=raw.files)


def _partner_key(place: Place, layout: str) -> tuple[str, ...]:
    """Return a key that is equal for partners; RESIDE has many hazy images per clear one."""
    if layout == "reside":
        return place.split, place.sequence
    return place.split, place.sequence, place.stem


def _named_twice(places: Sequence[Place]) -> list[str]:
    """Find files that differ only in their suffix, such as 1.jpg and 1.png."""
    found: dict[tuple[str, ...], Place] = {}
    faults = []
    for place in places:
        other = found.setdefault((place.split, place.sequence, place.stem), place)
        if other is not place:
            faults.append(f"{place.name} has the same name as {other.name}")
    return faults


def _describe_ready(
    place: Place, image: StoredImage, partner: Place, clean_size: tuple[int, int], layout: str
) -> dict[str, Any]:
    height, width = image.size()
    row = {
        "split": place.split,
        "sequence": place.sequence,
        "frame": place.stem,
        "level": (frames_averaged(place.sequence) or 0) if layout == "gopro" else 0,
        "height": height,
        "width": width,
        "degraded": place.name,
        "clean": partner.name,
    }
    larger = 2 * RESIDE_BORDER
    if layout == "reside" and clean_size == (height + larger, width + larger):
        row["border"] = RESIDE_BORDER
    return row


def _misfit(row: Mapping[str, Any], clean_size: tuple[int, int]) -> list[str]:
    height, width = clean_size
    border = 2 * row.get("border", 0)
    if (row["height"], row["width"]) == (height - border, width - border):
        return []
    return [f"{row['degraded']} is {row['width']}x{row['height']}, its partner {width}x{height}"]
