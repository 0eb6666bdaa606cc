"""Recognise results of earlier runs of `idemnet restore`, which are not inputs.

A file is a result if its source is where its name says: NAME_restored next to NAME, and files below
FOLDER_restored with the names of files below FOLDER. Files written with --output may have any name,
so they are listed in a hidden file in that folder.
"""

import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from idemnet.media.write_photo import RESULT_SUFFIXES

RESTORED, EXPLAINED = "_restored", "_explained"
EXPLANATION = "explanation.json"
LIST = ".idemnet_results"
"""Names of results, one JSON string per line, relative to the folder of the list."""


class Results:
    """Recognises results, and caches the list of each folder."""

    def __init__(self) -> None:
        self._listed = cache(_listed)

    def __contains__(self, path: Path) -> bool:
        place = Path(os.path.abspath(path))  # noqa: PTH100 - links keep their names
        if place.parent.name.endswith(EXPLAINED) and (place.parent / EXPLANATION).is_file():
            return True
        return _has_source(place) or any(
            json.dumps(str(place.relative_to(folder))) in self._listed(folder)
            for folder in place.parents
        )


def list_results(folder: Path, results: Iterable[Path]) -> None:
    """Record that files below a folder are results, before they are written."""
    names = (str(path.relative_to(folder)) for path in results)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LIST).open("a", encoding="utf-8") as file:
        file.write("".join(f"{json.dumps(name)}\n" for name in names))


def _listed(folder: Path) -> frozenset[str]:
    try:
        return frozenset((folder / LIST).read_text("utf-8", "replace").splitlines())
    except OSError:
        return frozenset()


def _has_source(place: Path) -> bool:
    """Return whether the file, or a folder above it, is named after a sibling."""
    if place.stem.endswith(RESTORED):
        named = place.with_name(place.stem.removesuffix(RESTORED) + place.suffix)
        if any(source.is_file() for source in _sources(named)):
            return True
    for folder in place.parents:
        if folder.name.endswith(RESTORED) and folder.name != RESTORED:
            original = folder.with_name(folder.name.removesuffix(RESTORED))
            named = original / place.relative_to(folder)
            if any(source.is_file() for source in _sources(named)):
                return True
    return False


def _sources(named: Path) -> list[Path]:
    """Return possible source names of a result: a.png may come from a.gif, as a.gif.png does."""
    found = [named]
    for suffix, written in RESULT_SUFFIXES.items():
        if named.suffix == written:
            found += [named.with_suffix(one) for one in (suffix, suffix.upper())]
            found += [one for one in [named.with_suffix("")] if one.suffix.lower() == suffix]
    return found
