"""05_model_input: patches in one memory-mapped array per split, ready for random access.

An index row is one pair of patches: its origin, and the two rows of the array that hold it. A clean
patch is stored once, however many blur levels it has.
"""

import csv
import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from idemnet.datasets.folder import PreparedDataset
from idemnet.errors import BadInputError
from idemnet.imaging.image import Image, Split
from idemnet.media.preview import ImagePreview, contact_sheet
from idemnet.steps.data import PatchBlock, Patches, PatchReader, PatchRow
from idemnet.steps.mix import Mix
from idemnet.steps.plan import Plan, Recipe
from idemnet.steps.publish import publish
from idemnet.storage.atomic import path_inside, raise_if_disk_full, write_atomic
from idemnet.storage.manifest import FileEntry, Manifest

PATCHES, INDEX = "patches.npy", "index.csv"


@dataclass(frozen=True)
class PatchArray:
    """Patches of one split; cheap to pass between processes, opened on first use."""

    folder: Path
    rows: tuple[PatchRow, ...]

    @cached_property
    def array(self) -> NDArray[np.uint8]:
        path = self.folder / PATCHES
        opened: NDArray[np.uint8] = np.load(path, mmap_mode=None if self.fits_in_memory else "r")
        return opened

    @cached_property
    def fits_in_memory(self) -> bool:
        """Return whether reading it leaves half of the free memory.

        If the system evicts mapped pages, a batch waits 400 ms for the disk instead of 5.
        """
        return (self.folder / PATCHES).stat().st_size <= psutil.virtual_memory().available // 2

    def read(self, number: int, top: int, left: int, size: int) -> tuple[Image, Image]:
        row = self.rows[number]
        window = np.s_[top : top + size, left : left + size]
        return np.array(self.array[row.degraded][window]), np.array(self.array[row.clean][window])

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "rows": self.rows}  # do not pickle the data


@dataclass(frozen=True)
class JoinedPatches:
    """The patches of one split of a mix, one source after the other."""

    parts: Mapping[str, PatchReader]

    @cached_property
    def rows(self) -> tuple[PatchRow, ...]:
        return tuple(
            replace(row, sequence=f"{name}/{row.sequence}")
            for name, part in self.parts.items()
            for row in part.rows
        )

    @property
    def fits_in_memory(self) -> bool:
        return all(part.fits_in_memory for part in self.parts.values())

    def read(self, number: int, top: int, left: int, size: int) -> tuple[Image, Image]:
        for part in self.parts.values():
            if number < len(part.rows):
                return part.read(number, top, left, size)
            number -= len(part.rows)
        raise IndexError(number)


class PatchesDataset(PreparedDataset[Patches]):
    """What `crop` publishes: SPLIT/patches.npy and SPLIT/index.csv."""

    def read(self, folder: Path, manifest: Manifest) -> Patches:
        splits = {
            split: PatchArray(folder / split, _read_index(folder / split / INDEX))
            for split in manifest.about["splits"]
        }
        return Patches(
            manifest.fingerprint, manifest.about["size"], splits, self.task,
            held_out=frozenset(manifest.about["held_out"]),
        )  # fmt: skip

    def join(self, manifest: Manifest, mix: Mix[Patches]) -> Patches:
        splits: dict[Split, dict[str, PatchReader]] = {}
        for name, part in mix.parts.items():
            for split, reader in part.data.splits.items():
                splits.setdefault(split, {})[name] = reader
        [size] = {part.data.size for part in mix.parts.values()}
        joined = {split: JoinedPatches(readers) for split, readers in splits.items()}
        weights = {name: part.weight for name, part in mix.parts.items()}
        held_out = frozenset(
            f"{name}/{sequence}"
            for name, part in mix.parts.items()
            for sequence in part.data.held_out
        )
        return Patches(manifest.fingerprint, size, joined, self.task, weights, held_out)

    def publish(self, folder: Path, recipe: Recipe) -> None:
        publish(folder, recipe, _write_block, _finish)

    def preview(self) -> ImagePreview:
        """Show pairs from the whole training split, degraded above clean."""
        patches = self.load()
        train = patches.splits["train"]
        numbers = range(0, len(train.rows), max(1, len(train.rows) // 6))[:6]
        pairs = [train.read(number, 0, 0, patches.size) for number in numbers]
        shown = [degraded for degraded, _ in pairs] + [clean for _, clean in pairs]
        return contact_sheet(shown, columns=len(pairs))


def _write_block(folder: Path, name: str, block: PatchBlock) -> list[list[Any]]:
    """Write one image's patches into the array; return the index rows they complete."""
    header = _header(block.array_length, block.patches.shape[1])
    path = path_inside(folder, f"{block.split}/{PATCHES}")
    # O_DSYNC: durable, and an NFS client sends these bytes alone, not whole pages, of which another
    # machine may write the rest.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DSYNC, 0o666)
    try:
        data = memoryview(block.patches.tobytes())
        offset = len(header) + block.start * block.patches[0].nbytes
        while data:
            written = os.pwrite(descriptor, data, offset)
            data, offset = data[written:], offset + written
    except OSError as error:
        raise_if_disk_full(error, path, block.patches.nbytes)
        raise
    finally:
        os.close(descriptor)
    return [list(astuple(row)) for row in block.index]


def _finish(folder: Path, items: Mapping[str, Any], plan: Plan) -> Mapping[str, FileEntry]:
    """Write the header of each array and the indices, and hash both."""
    files: dict[str, FileEntry] = {}
    for split, length in plan.about["splits"].items():
        array = folder / split / PATCHES
        with array.open("r+b") as file:
            file.write(_header(length, plan.about["size"]))
            os.fsync(file.fileno())
        with array.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        files[f"{split}/{PATCHES}"] = (array.stat().st_size, sha256)
        rows = [row for name, part in items.items() if name.startswith(f"{split}/") for row in part]
        if not rows:
            raise BadInputError(f"min_contrast rejects every patch of {split}, lower it")
        text = io.StringIO(newline="")
        csv.writer(text).writerows([[field.name for field in fields(PatchRow)], *rows])
        entry = write_atomic(folder / split / INDEX, [text.getvalue().encode()])
        files[f"{split}/{INDEX}"] = entry
    return files


def _header(length: int, size: int) -> bytes:
    header = io.BytesIO()
    description = {"descr": "|u1", "fortran_order": False, "shape": (length, size, size, 3)}
    np.lib.format.write_array_header_1_0(header, description)
    return header.getvalue()


def _read_index(path: Path) -> tuple[PatchRow, ...]:
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    return tuple(
        PatchRow(sequence, frame, *map(int, numbers)) for sequence, frame, *numbers in rows
    )
