"""Raw data from archives, folders and videos, and photographs for the built-in scenes."""

import io
import os
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kedro.utils import find_kedro_project

from idemnet.errors import BadInputError
from idemnet.fetch.archive import check_archive, read_members
from idemnet.fetch.download import fetch
from idemnet.imaging.image import Split
from idemnet.media.find import pictures_below
from idemnet.media.frames import SUFFIXES as VIDEO_SUFFIXES
from idemnet.media.frames import open_video
from idemnet.media.image_files import ImageFile, is_image, open_image
from idemnet.media.photographs import OwnPhotograph
from idemnet.parameters.source import ArchiveParameters, StructureParameters
from idemnet.steps import versions
from idemnet.steps.layouts import Layout, Place, check_structure, place_files
from idemnet.steps.plan import Plan, step
from idemnet.storage.checksum import hash_file
from idemnet.storage.executor import Job
from idemnet.storage.manifest import FilesInPlace

MEMBERS_PER_JOB = 256


@dataclass(frozen=True)
class Archive:
    """A zip file, on this machine or to be downloaded."""

    source: ArchiveParameters

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"archive": self.source.sha256 or list(self.source.addresses)}

    def fetch(self) -> Path:
        """Return the zip file, after downloading it if needed."""
        here = Path.cwd()
        return fetch(
            self.source.addresses,
            (find_kedro_project(here) or here) / self.source.folder,
            sha256=self.source.sha256,
            retries=self.source.retries,
            timeout=self.source.timeout,
        )


@dataclass(frozen=True)
class FilesOnDisk:
    """Files that are used in place; identified without reading them."""

    folder: Path
    found: Mapping[str, os.stat_result]

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in self.found.items()}


@dataclass(frozen=True)
class OwnPhotographs:
    """Photographs for the built-in scenes, in addition to those of installed packages."""

    photographs: Sequence[OwnPhotograph]

    @property
    def fingerprint(self) -> dict[str, str]:
        return {one.path.name: hash_file(one.path) for one in self.photographs}


def list_images(folder: str) -> FilesOnDisk:
    place = _existing_folder(folder)
    return FilesOnDisk(place, _list_files(place, is_image))


def list_videos(folder: str) -> FilesOnDisk:
    place = _existing_folder(folder)
    found = _list_files(place, lambda path: path.suffix.lower() in VIDEO_SUFFIXES)
    if not found:
        raise BadInputError(f"{place}: contains no videos ({', '.join(VIDEO_SUFFIXES)})")
    return FilesOnDisk(place, found)


def list_photographs(folder: str) -> OwnPhotographs | None:
    """List the photographs below a folder; None if no folder is given."""
    if not folder:
        return None
    place = _existing_folder(folder)
    found = [OwnPhotograph(place / path) for path in pictures_below(place)]
    if not found:
        raise BadInputError(f"{folder}: contains no photographs")
    return OwnPhotographs(found)


@step("download", versions.FETCH)
def unpack(archive: Archive, layout: Layout, *, expected: StructureParameters) -> Plan:
    """Fetch a zip file, check its listing, and plan to unpack its images."""
    path = archive.fetch()
    members = check_archive(path, limit_bytes=round(archive.source.unpacked_gigabytes * 1e9))
    images = {name: info for name, info in members.items() if is_image(Path(name))}
    places = place_files(images, layout, str(path))
    check_structure(places, expected, str(path))
    examples = {place.name: images[place.name] for place in _one_per_sequence(places)}
    for name, chunks in read_members(path, examples):
        image = open_image(io.BytesIO(next(chunks, b"")), f"{path}: {name}")
        _check_size((image.height, image.width), expected, f"{path}: {name}")
    names = [place.name for place in places]
    groups = [names[at : at + MEMBERS_PER_JOB] for at in range(0, len(names), MEMBERS_PER_JOB)]
    jobs = [
        Job(tuple(group), partial(_unpack, path, {name: images[name] for name in group}))
        for group in groups
    ]
    size = sum(images[name].file_size for name in names)
    return Plan(jobs, {"layout": layout}, bytes_needed=size)


def _unpack(
    path: Path, members: Mapping[str, zipfile.ZipInfo], wanted: Collection[str]
) -> Iterator[tuple[str, Iterator[bytes]]]:
    return read_members(path, {name: members[name] for name in members if name in wanted})


@step("download", versions.FETCH)
def use_images(files: FilesOnDisk, layout: Layout, *, expected: StructureParameters) -> Plan:
    """Check a folder of images, and plan to use them in place."""
    places = place_files(files.found, layout, str(files.folder))
    check_structure(places, expected, str(files.folder))
    for place in _one_per_sequence(places):
        size = files.found[place.name].st_size
        image = ImageFile(files.folder / place.name, place.name, size, None)
        _check_size(image.size(), expected, str(image.path))
    entries = {place.name: (files.found[place.name].st_size, None) for place in places}
    return Plan(about={"layout": layout}, uses=FilesInPlace(files.folder, entries))


@step("download", versions.FETCH)
def use_videos(files: FilesOnDisk, *, expected: StructureParameters) -> Plan:
    """Read the size of every video, and plan to use them in place."""
    videos = []
    for name in files.found:
        split: Split = "test" if Path(name).parts[0] == "test" else "train"
        video = open_video(files.folder / name, split)
        videos.append(
            {"file": name, "split": split, "name": video.name}
            | {"length": video.length, "height": video.height, "width": video.width}
        )
    names = [(video["split"], video["name"]) for video in videos]
    if len(set(names)) < len(names):
        raise BadInputError(
            f"{files.folder}: two videos have the same name apart from folder or suffix"
        )
    entries = {name: (stat.st_size, None) for name, stat in files.found.items()}
    about = {"layout": "videos", "videos": videos}
    return Plan(about=about, uses=FilesInPlace(files.folder, entries))


def _existing_folder(path: str) -> Path:
    folder = Path(path).expanduser().resolve()
    if not folder.is_dir():
        raise BadInputError(f"{folder}: is not a folder")
    return folder


def _list_files(folder: Path, is_wanted: Any) -> dict[str, os.stat_result]:
    files = {}
    # Data sets in different places can be symlinked into one folder.
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if _is_walked(Path(place, name)))
        for name in sorted(names):
            path = Path(place, name)
            if is_wanted(path) and not name.startswith("."):
                files[path.relative_to(folder).as_posix()] = path.stat()
    return files


def _is_walked(folder: Path) -> bool:
    """Return whether to descend into a folder: not if hidden, or a symlink to a parent."""
    hidden = folder.name.startswith(".")
    back = folder.is_symlink() and folder.parent.resolve().is_relative_to(folder.resolve())
    return not hidden and not back


def _one_per_sequence(places: Sequence[Place]) -> list[Place]:
    return list({(place.split, place.sequence): place for place in places}.values())


def _check_size(size: tuple[int, int], expected: StructureParameters, where: str) -> None:
    wanted = expected.height or size[0], expected.width or size[1]
    if size != wanted:
        raise BadInputError(
            f"{where}: is {size[1]}x{size[0]} instead of {wanted[1]}x{wanted[0]} pixels"
        )
