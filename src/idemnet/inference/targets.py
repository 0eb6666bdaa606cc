"""Find the inputs of `idemnet restore`, and where the result of each goes."""

import glob
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from idemnet.errors import BadInputError
from idemnet.inference.results import RESTORED, Results
from idemnet.media.image_files import PHOTO_FORMATS
from idemnet.media.write_photo import RESULT_SUFFIXES, WRITTEN_FORMATS, result_name
from idemnet.storage.atomic import shorten

VIDEOS = (".mp4", ".mov", ".mkv", ".webm")
EARLIER, EXISTING = "result of earlier runs", "existing result (use --force)"


@dataclass(frozen=True)
class RestoreTarget:
    """A picture or video to restore, and the file that it becomes."""

    source: Path
    target: Path
    listed_in: Path | None = None
    """The folder given with --output, in which results are listed; None: results are named after
    their sources."""

    @property
    def is_video(self) -> bool:
        return self.source.suffix.lower() in VIDEOS


@dataclass(frozen=True)
class RestorePlan:
    """Files to restore, and numbers of skipped files by kind."""

    todo: list[RestoreTarget] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    empty: list[Path] = field(default_factory=list)
    """Folders without pictures and videos."""


def plan_targets(inputs: Sequence[str], output: Path | None) -> RestorePlan:
    """Find the named pictures and videos, and where the result of each goes.

    A file becomes NAME_restored next to it, a folder NAME_restored with the same structure. With
    `output`, all results go into that folder; for a single file, `output` may be a file name.
    Results of earlier runs are skipped.

    Raises:
        BadInputError: If an input is not found, there is nothing to restore, or two results would
            collide.
    """
    places = [place for name in inputs for place in _expand(name)]
    alone = len(places) == 1
    plan, results = RestorePlan(), Results()
    for place in places:
        if place.is_dir():
            _add_folder(plan, results, place, output, alone=alone)
        elif place in results:
            plan.skipped[EARLIER] += 1
        else:
            plan.todo.append(_of_file(place, output, alone=alone))
    if not plan.todo:
        raise BadInputError(f"{shorten(list(inputs))}: {_describe_nothing(plan.skipped)}")
    return replace(plan, todo=_without_conflicts(plan.todo))


def describe(skipped: Counter[str]) -> str:
    """Return counts by kind, the most frequent first."""
    return shorten(
        [
            f"{count} {kind if count == 1 else kind.replace('result', 'results')}"
            for kind, count in skipped.most_common()
        ]
    )


def _describe_nothing(skipped: Counter[str]) -> str:
    if not skipped:
        return "contains no pictures or videos"
    again = " (to restore a result again, copy it under another name)" * (EARLIER in skipped)
    return f"nothing to restore, only {describe(skipped)}{again}"


def _without_conflicts(items: list[RestoreTarget]) -> list[RestoreTarget]:
    targets: dict[Path, RestoreTarget] = {}
    for item in items:
        other = targets.setdefault(item.target.resolve(), item)
        if other.source.resolve() != item.source.resolve():
            raise BadInputError(f"{item.source} and {other.source} would both become {item.target}")
    sources = {item.source.resolve() for item in items}
    for target, item in targets.items():
        if target in sources:
            raise BadInputError(f"{item.target}: is an input, and inputs are never overwritten")
    return list(targets.values())


def _expand(name: str) -> list[Path]:
    path = Path(name).expanduser()
    if path.exists():
        return [path]
    found = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207 - it may be absolute
    if not found:
        raise BadInputError(f"{name}: not found")
    return [Path(one) for one in found]


def _of_file(path: Path, output: Path | None, *, alone: bool) -> RestoreTarget:
    suffix = path.suffix.lower()
    if suffix not in (*PHOTO_FORMATS, *VIDEOS):
        known = ", ".join(sorted((*PHOTO_FORMATS, *VIDEOS)))
        raise BadInputError(f"{path}: unsupported format '{path.suffix}', must be one of {known}")
    if output is None:
        name = Path(result_name(path))
        return RestoreTarget(path, path.with_name(f"{name.stem}{RESTORED}{name.suffix}"))
    if alone and not output.is_dir():
        if output.suffix.lower() in (VIDEOS if suffix in VIDEOS else WRITTEN_FORMATS):
            return RestoreTarget(path, output, output.parent)
        if output.suffix.lower() in RESULT_SUFFIXES:
            raise BadInputError(
                f"{output}: {output.suffix} can be read but not written, "
                f"use {RESULT_SUFFIXES[output.suffix.lower()]}"
            )
    return RestoreTarget(path, output / result_name(path), output)


def _add_folder(
    plan: RestorePlan, results: Results, folder: Path, output: Path | None, *, alone: bool
) -> None:
    """Add all files below a folder, except hidden ones."""
    # `.` and `..` must be resolved to get a name; symlinks keep theirs.
    named = Path(os.path.abspath(folder)) if folder.name in ("", "..") else folder  # noqa: PTH100
    if output is not None:
        root = output if alone else output / named.name
    elif named.name:
        root = named.with_name(f"{named.name}{RESTORED}")
    else:
        raise BadInputError(f"{folder}: use --output to choose a folder for the results")
    here, there = folder.resolve(), root.resolve()
    if here == there:
        raise BadInputError(f"{output}: is the input folder, and inputs are never overwritten")
    results_inside = there.is_relative_to(here)
    before = plan.skipped[EARLIER], len(plan.todo)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts) or not path.is_file():
            continue
        if path.suffix.lower() not in (*PHOTO_FORMATS, *VIDEOS):
            plan.skipped[path.suffix.lower() or "without suffix"] += 1
        elif path in results or (results_inside and path.resolve().is_relative_to(there)):
            plan.skipped[EARLIER] += 1
        else:
            target = root / name.with_name(result_name(path))
            plan.todo.append(RestoreTarget(path, target, output))
    if before == (plan.skipped[EARLIER], len(plan.todo)):
        plan.empty.append(folder)
