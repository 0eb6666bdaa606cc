"""crop: patches that training can read at random without decoding anything."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

import numpy as np

from idemnet.errors import BadInputError
from idemnet.imaging.crop import contrast, cut_patches, patch_grid
from idemnet.imaging.image import Split
from idemnet.parameters.crop import CropParameters
from idemnet.steps import versions
from idemnet.steps.data import Pair, Pairs, PatchBlock, PatchRow
from idemnet.steps.mix import for_each_source
from idemnet.steps.plan import Plan, step
from idemnet.storage.executor import Job


def hold_out(pairs: Sequence[Pair], parameters: CropParameters) -> set[str]:
    """Return the training sequences for validation: those named, or a share chosen by hash.

    A hash of their names, so that the choice stays the same when sequences are added.

    Raises:
        BadInputError: If one is not found, or there are too few sequences to hold one out.
    """
    found = {pair.sequence for pair in pairs if pair.split == "train"}
    if parameters.validation_sequences:
        missing = set(parameters.validation_sequences) - found
        if missing:
            raise BadInputError(
                f"validation_sequences: not found among the {len(found)} training sequences: "
                f"{', '.join(sorted(missing))}"
            )
        return set(parameters.validation_sequences)
    fraction = parameters.validation_fraction
    if fraction == 0 or any(pair.split == "validation" for pair in pairs):
        return set()
    names = sorted(found, key=_digest)
    if len(names) < 2:
        raise BadInputError(
            f"validation needs a training sequence of its own, but there is only {len(names)}; "
            "set validation_fraction to 0 to do without"
        )
    return set(names[: max(1, round(fraction * len(names)))])


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


@for_each_source("crop")
@step("crop", versions.CROP)
def crop(pairs: Pairs, parameters: CropParameters) -> Plan:
    """Cut training and validation pairs into patches; test pairs stay whole.

    Raises:
        BadInputError: If an image is smaller than a patch, or nothing is left to train on.
    """
    held_out = hold_out(pairs.pairs, parameters)
    small = [pair for pair in pairs.pairs if min(pair.height, pair.width) < parameters.size]
    if small:
        raise BadInputError(
            f"size = {parameters.size} must fit into every image, but {len(small)} are smaller, "
            f"{small[0].degraded.name} first ({small[0].width}x{small[0].height})"
        )
    by_split: dict[Split, list[Pair]] = {"train": [], "validation": []}
    for pair in pairs.pairs:
        if pair.split != "test":
            by_split["validation" if pair.sequence in held_out else pair.split].append(pair)
    if not by_split["train"]:
        raise BadInputError("there is no training sequence")
    lengths: dict[Split, int] = {}
    jobs: list[Job] = []
    for split, chosen in by_split.items():
        groups = [_Group(split, group, parameters) for group in _with_the_same_clean_image(chosen)]
        lengths[split] = sum(group.rows for group in groups)
        starts = accumulate((group.rows for group in groups), initial=0)
        jobs += [
            Job(group.names, partial(_cut, group, start, lengths[split]))
            for group, start in zip(groups, starts, strict=False)
        ]
    return Plan(
        jobs,
        {
            "size": parameters.size,
            "splits": {split: length for split, length in lengths.items() if length},
            "held_out": sorted(held_out),
        },
        bytes_needed=sum(lengths.values()) * parameters.size**2 * 3,
    )


@dataclass(frozen=True)
class _Group:
    """A clean image and its degraded ones: decoded and cut together."""

    split: Split
    pairs: Sequence[Pair]
    parameters: CropParameters

    @property
    def grid(self) -> list[tuple[int, int]]:
        size, stride = self.parameters.size, self.parameters.stride
        return patch_grid(self.pairs[0].height, self.pairs[0].width, size, stride)

    @property
    def rows(self) -> int:
        return len(self.grid) * (1 + len(self.pairs))

    @property
    def names(self) -> tuple[str, ...]:
        images = [self.pairs[0].clean, *(pair.degraded for pair in self.pairs)]
        return tuple(f"{self.split}/{image.name}" for image in images)


def _with_the_same_clean_image(pairs: Sequence[Pair]) -> list[list[Pair]]:
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.clean.name, []).append(pair)
    return list(groups.values())


def _cut(
    group: _Group, start: int, array_length: int, wanted: Collection[str]
) -> Iterator[tuple[str, PatchBlock]]:
    grid, size = group.grid, group.parameters.size
    clean_name, *degraded_names = group.names
    clean = cut_patches(group.pairs[0].clean(), grid, size)
    kept = np.flatnonzero(contrast(clean) >= group.parameters.min_contrast)
    if clean_name in wanted:
        yield clean_name, PatchBlock(group.split, array_length, start, clean, ())
    for place, (name, pair) in enumerate(zip(degraded_names, group.pairs, strict=True), 1):
        if name not in wanted:
            continue
        first = start + place * len(grid)
        index = [
            PatchRow(pair.sequence, pair.frame, pair.level, *grid[at], first + at, start + at)
            for at in map(int, kept)
        ]
        patches = cut_patches(pair.degraded(), grid, size)
        yield name, PatchBlock(group.split, array_length, first, patches, index)
