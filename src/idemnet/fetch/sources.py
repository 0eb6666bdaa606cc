"""Sources of raw data: archives, folders, videos, and photographs for the built-in scenes."""

import io
import os
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kedro.utils import find_kedro_project

from idemnet.errors import BadInputError
from idemnet.fetch.archive import check_archive, read_members
from idemnet.fetch.download import fetch
from idemnet.imaging.image import LazyImage, Split
from idemnet.media.find import pictures_below
from idemnet.media.frames import SUFFIXES as VIDEO_SUFFIXES
from idemnet.media.frames import open_video
from idemnet.media.image_files import ImageFile, is_image, open_image
from idemnet.media.photographs import PHOTOGRAPHS, OwnPhotograph
from idemnet.parameters.source import OneSourceParameters, StructureParameters
from idemnet.steps import versions
from idemnet.steps.layouts import Place, check_structure, place_files
from idemnet.steps.plan import Plan, Recipe, fingerprint
from idemnet.storage.checksum import hash_file
from idemnet.storage.executor import Job
from idemnet.storage.manifest import FilesInPlace

MEMBERS_PER_JOB = 256


class SourcesOnDisk:
    """Recipes for every kind of raw data; nothing is fetched until a recipe is carried out."""

    def __init__(self, archives: str | Path) -> None:
        """Set the folder for downloaded archives, relative to the project."""
        here = Path.cwd()
        self._archives = (find_kedro_project(here) or here) / archives

    def photographs(self, split: Split) -> Sequence[LazyImage]:
        return [photograph for photograph in PHOTOGRAPHS if photograph.split == split]

    def further_photographs(self, folder: str) -> tuple[Sequence[LazyImage], dict[str, str]]:
        if not folder:
            return [], {}
        place = _existing_folder(folder)
        found = [OwnPhotograph(place / path) for path in pictures_below(place)]
        if not found:
            raise BadInputError(f"{folder}: contains no photographs")
        return found, {photograph.path.name: hash_file(photograph.path) for photograph in found}

    def archive(self, source: OneSourceParameters) -> Recipe:
        identity = {"archive": source.archive.sha256 or list(source.archive.addresses)}
        plan = partial(_plan_archive, source, self._archives)
        return _recipe(plan, identity, source.layout, source.expected)

    def folder(self, source: OneSourceParameters) -> Recipe:
        folder = _existing_folder(source.folder.path)
        files = _list_files(folder, is_image)
        plan = partial(_plan_folder, source, folder, files)
        return _recipe(plan, _identity(files), source.layout, source.expected)

    def videos(self, source: OneSourceParameters) -> Recipe:
        folder = _existing_folder(source.videos.path)
        files = _list_files(folder, lambda path: path.suffix.lower() in VIDEO_SUFFIXES)
        if not files:
            raise BadInputError(f"{folder}: contains no videos ({', '.join(VIDEO_SUFFIXES)})")
        return _recipe(partial(_plan_videos, folder, files), _identity(files), source.expected)


def _recipe(plan: Callable[[], Plan], *decisive: Any) -> Recipe:
    return Recipe(fingerprint("download", versions.FETCH, *decisive), plan)


def _plan_archive(source: OneSourceParameters, archives: Path) -> Plan:
    given = source.archive
    path = fetch(
        given.addresses,
        archives,
        sha256=given.sha256,
        retries=given.retries,
        timeout=given.timeout,
    )
    members = check_archive(path, limit_bytes=round(given.unpacked_gigabytes * 1e9))
    images = {name: info for name, info in members.items() if is_image(Path(name))}
    places = place_files(images, source.layout, str(path))
    check_structure(places, source.expected, str(path))
    examples = {place.name: images[place.name] for place in _one_per_sequence(places)}
    for name, chunks in read_members(path, examples):
        image = open_image(io.BytesIO(next(chunks, b"")), f"{path}: {name}")
        _check_size((image.height, image.width), source.expected, f"{path}: {name}")
    names = [place.name for place in places]
    groups = [names[at : at + MEMBERS_PER_JOB] for at in range(0, len(names), MEMBERS_PER_JOB)]
    jobs = [
        Job(tuple(group), partial(_unpack, path, {name: images[name] for name in group}))
        for group in groups
    ]
    size = sum(images[name].file_size for name in names)
    return Plan(jobs, {"layout": source.layout}, bytes_needed=size)


def _unpack(
    path: Path, members: Mapping[str, zipfile.ZipInfo], wanted: Collection[str]
) -> Iterator[tuple[str, Iterator[bytes]]]:
    return read_members(path, {name: members[name] for name in members if name in wanted})


def _plan_folder(
    source: OneSourceParameters, folder: Path, files: Mapping[str, os.stat_result]
) -> Plan:
    places = place_files(files, source.layout, str(folder))
    check_structure(places, source.expected, str(folder))
    for place in _one_per_sequence(places):
        image = ImageFile(folder / place.name, place.name, files[place.name].st_size, None)
        _check_size(image.size(), source.expected, str(image.path))
    entries = {place.name: (files[place.name].st_size, None) for place in places}
    return Plan(about={"layout": source.layout}, uses=FilesInPlace(folder, entries))


def _plan_videos(folder: Path, files: Mapping[str, os.stat_result]) -> Plan:
    videos = []
    for name in files:
        split: Split = "test" if Path(name).parts[0] == "test" else "train"
        video = open_video(folder / name, split)
        videos.append(
            {"file": name, "split": split, "name": video.name}
            | {"length": video.length, "height": video.height, "width": video.width}
        )
    names = [(video["split"], video["name"]) for video in videos]
    if len(set(names)) < len(names):
        raise BadInputError(f"{folder}: two videos have the same name apart from folder or suffix")
    entries = {name: (stat.st_size, None) for name, stat in files.items()}
    about = {"layout": "videos", "videos": videos}
    return Plan(about=about, uses=FilesInPlace(folder, entries))


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


def _identity(files: Mapping[str, os.stat_result]) -> dict[str, Any]:
    """Identify files used in place without reading them."""
    return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in files.items()}


def _one_per_sequence(places: Sequence[Place]) -> list[Place]:
    return list({(place.split, place.sequence): place for place in places}.values())


def _check_size(size: tuple[int, int], expected: StructureParameters, where: str) -> None:
    wanted = expected.height or size[0], expected.width or size[1]
    if size != wanted:
        raise BadInputError(
            f"{where}: is {size[1]}x{size[0]} instead of {wanted[1]}x{wanted[0]} pixels"
        )
