"""Layouts of data sets: from a file name to split, sequence and role."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, get_args

from idemnet.errors import BadInputError
from idemnet.imaging.image import Split
from idemnet.parameters.source import StructureParameters

Layout = Literal["frames", "gopro", "reside", "flat"]

SHAPES: dict[Layout, str] = {
    "frames": "SPLIT/SEQUENCE/FRAME.png",
    "gopro": "SPLIT/SEQUENCE/{blur,blur_gamma,sharp}/FRAME.png",
    "reside": "[SPLIT/]{hazy/NUMBER_*,clear/NUMBER}.png",
    "flat": "[SPLIT/][SET/]{input,target}/NAME.png",
}

SPLITS: tuple[Split, ...] = get_args(Split)

GOPRO_ROLES = ("blur", "blur_gamma", "sharp")

RESIDE_ROLES = ("hazy", "clear")

FLAT_ROLES = ("input", "target")

COUNTED_ROLES = ("frame", "sharp", "hazy", "target")
"""Role that occurs once for each frame or pair."""


@dataclass(frozen=True, order=True)
class Place:
    """Position of a file in its data set."""

    split: Split
    sequence: str
    role: str
    stem: str
    name: str


def place_files(names: Iterable[str], layout: Layout, where: str) -> list[Place]:
    """Parse every name by the layout; other files are skipped.

    Raises:
        BadInputError: If no name fits.
    """
    names = sorted(names)
    places = sorted(place for name in names if (place := _place(name, layout)) is not None)
    if not places:
        seen = f"the first of {len(names)} images is {names[0]}" if names else "it has no images"
        raise BadInputError(f"{where}: no file matches {SHAPES[layout]}; {seen}")
    return places


def _place(name: str, layout: Layout) -> Place | None:
    parts = PurePosixPath(name).parts
    stem = PurePosixPath(name).stem
    # Archives may have extra parent folders: count from the split's folder.
    start = next((at for at, part in enumerate(parts) if part in SPLITS), None)
    split: Split = parts[start] if start is not None else "train"  # type: ignore[assignment]
    match layout, parts[start + 1 :] if start is not None else parts[-2:]:
        case "frames", (sequence, _) if start is not None:
            role = "frame"
        case "frames", (_,) if start and parts[start - 1] == "depth":
            sequence, role = stem, "depth"
        case "gopro", (sequence, role, _) if role in GOPRO_ROLES:
            pass
        case "reside", (role, _) if role in RESIDE_ROLES:
            sequence = stem.split("_")[0]
        case "flat", (role, _) if role in FLAT_ROLES:
            sequence = stem
        case "flat", (dataset, role, _) if role in FLAT_ROLES:
            # Test scores are grouped by set; any training pair may be held out.
            sequence = dataset if split == "test" else f"{dataset}/{stem}"
        case _:
            return None
    return Place(split, sequence, role, stem, name)


def check_structure(places: Sequence[Place], expected: StructureParameters, where: str) -> None:
    """Compare a data set with its expected structure.

    Raises:
        BadInputError: Listing all differences.
    """
    faults = []
    for split in ("train", "test"):
        here = [place for place in places if place.split == split]
        sequences = {place.sequence for place in here}
        images = [place for place in here if place.role in COUNTED_ROLES]
        for what, found in (("sequences", len(sequences)), ("images", len(images))):
            wanted = getattr(expected, f"{split}_{what}")
            if wanted is not None and found != wanted:
                faults.append(f"{split} has {found} {what} instead of {wanted}")
    if faults:
        raise BadInputError(f"{where}: {', '.join(faults)}")
