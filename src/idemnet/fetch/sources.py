"""Where raw data comes from: an archive, a folder, videos, or photographs for our own scenes."""

import io
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from idemnet.errors import BadInputError
from idemnet.fetch.archive import Archive, Member
from idemnet.fetch.download import fetch
from idemnet.imaging.image import LazyImage, Split
from idemnet.media.find import pictures_below
from idemnet.media.frames import SUFFIXES as VIDEO_SUFFIXES
from idemnet.media.frames import open_video
from idemnet.media.image_files import ImageFile, is_image, open_image
from idemnet.media.photographs import PHOTOGRAPHS, OwnPhotograph
from idemnet.parameters.source import SourceParameters, StructureParameters
from idemnet.steps import versions
from idemnet.steps.layouts import Place, check_structure, place_files
from idemnet.steps.plan import Plan, Recipe, fingerprint
from idemnet.storage.checksum import hash_file
from idemnet.storage.executor import Job
from idemnet.storage.manifest import FilesInPlace

MEMBERS_PER_JOB = 64


class SourcesOnDisk:
    """Recipes for raw data of every kind; nothing is fetched before a recipe is carried out."""

    def __init__(self, archives: Path) -> None:
        self._archives = archives

    def photographs(self, split: Split) -> Sequence[LazyImage]:
        return [photograph for photograph in PHOTOGRAPHS if photograph.split == split]

    def further_photographs(self, folder: str) -> tuple[Sequence[LazyImage], dict[str, str]]:
        if not folder:
            return [], {}
        place = _existing_folder(folder)
        found = [OwnPhotograph(place / path) for path in pictures_below(place)]
        if not found:
            raise BadInputError(f"{folder}: holds no photographs")
        return found, {photograph.path.name: hash_file(photograph.path) for photograph in found}

    def archive(self, source: SourceParameters) -> Recipe:
        parameters = source.archive
        identity = parameters.sha256 or list(parameters.addresses)
        return Recipe(
            fingerprint(
                "download", versions.FETCH, {"archive": identity}, source.layout, source.expected
            ),
            partial(_plan_archive, source, self._archives),
        )

    def folder(self, source: SourceParameters) -> Recipe:
        folder = _existing_folder(source.folder.path)
        files = _list_files(folder, is_image)
        return Recipe(
            fingerprint(
                "download", versions.FETCH, _identity(files), source.layout, source.expected
            ),
            partial(_plan_folder, source, folder, files),
        )

    def videos(self, source: SourceParameters) -> Recipe:
        folder = _existing_folder(source.videos.path)
        files = _list_files(folder, lambda path: path.suffix.lower() in VIDEO_SUFFIXES)
        if not files:
            raise BadInputError(f"{folder}: holds no video ({', '.join(VIDEO_SUFFIXES)})")
        return Recipe(
            fingerprint("download", versions.FETCH, _identity(files), source.expected),
            partial(_plan_videos, folder, files),
        )


def _plan_archive(source: SourceParameters, archives: Path) -> Plan:
    parameters = source.archive
    path = fetch(
        parameters.addresses,
        archives,
        sha256=parameters.sha256,
        retries=parameters.retries,
        timeout=parameters.timeout,
    )
    archive = Archive.open(path, limit_bytes=round(parameters.unpacked_gigabytes * 1e9))
    members = {member.name: member for member in archive.members if is_image(Path(member.name))}
    places = place_files(members, source.layout, str(path))
    check_structure(places, source.expected, str(path))
    for place in _one_of_each_sequence(places):
        head = io.BytesIO(next(archive.read(members[place.name]), b""))
        image = open_image(head, f"{path}: {place.name}")
        _check_size((image.height, image.width), source.expected, f"{path}: {place.name}")
    names = [place.name for place in places]
    groups = [names[at : at + MEMBERS_PER_JOB] for at in range(0, len(names), MEMBERS_PER_JOB)]
    jobs = [
        Job(tuple(group), partial(_unpack, archive.path, [members[name] for name in group]))
        for group in groups
    ]
    size = sum(members[name].size for name in names)
    return Plan(jobs, {"layout": source.layout}, bytes_needed=size)


def _unpack(
    path: Path, members: Sequence[Member], wanted: Collection[str]
) -> Iterator[tuple[str, Iterator[bytes]]]:
    archive = Archive(path, tuple(members))
    for member in members:
        if member.name in wanted:
            yield member.name, archive.read(member)


def _plan_folder(
    source: SourceParameters, folder: Path, files: Mapping[str, os.stat_result]
) -> Plan:
    places = place_files(files, source.layout, str(folder))
    check_structure(places, source.expected, str(folder))
    for place in _one_of_each_sequence(places):
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
        raise BadInputError(f"{folder}: two videos have the same name, apart from folder or ending")
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
    # Data sets that lie apart can be linked together under one folder.
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if _goes_down(Path(place, name)))
        for name in sorted(names):
            path = Path(place, name)
            if is_wanted(path) and not name.startswith("."):
                files[path.relative_to(folder).as_posix()] = path.stat()
    return files


def _goes_down(folder: Path) -> bool:
    """Return whether to look into a folder: not if it is hidden, or a link that leads back up."""
    hidden = folder.name.startswith(".")
    back = folder.is_symlink() and folder.parent.resolve().is_relative_to(folder.resolve())
    return not hidden and not back


def _identity(files: Mapping[str, os.stat_result]) -> dict[str, Any]:
    """Identify files used in place without reading them."""
    return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in files.items()}


def _one_of_each_sequence(places: Sequence[Place]) -> list[Place]:
    return list({(place.split, place.sequence): place for place in places}.values())


def _check_size(size: tuple[int, int], expected: StructureParameters, where: str) -> None:
    wanted = expected.height or size[0], expected.width or size[1]
    if size != wanted:
        raise BadInputError(
            f"{where}: is {size[1]}x{size[0]} instead of {wanted[1]}x{wanted[0]} pixels"
        )
