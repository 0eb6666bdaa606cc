"""download: raw data from where the parameters say."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from idemnet.errors import BadInputError
from idemnet.imaging.image import LazyImage, Split
from idemnet.imaging.scenes import render_depth, render_frames
from idemnet.parameters.source import SceneParameters, SourceParameters
from idemnet.steps import versions
from idemnet.steps.plan import Plan, Recipe, fingerprint
from idemnet.steps.services import Sources
from idemnet.storage.executor import Job


def download(source: SourceParameters, sources: Sources) -> Recipe:
    """Choose by kind where the raw data comes from; nothing is fetched or rendered yet.

    Raises:
        BadInputError: If the parameters do not say where, or nothing usable is there.
    """
    _check_says_where(source)
    match source.kind:
        case "builtin":
            return render_scenes(source.builtin, sources)
        case "archive":
            return sources.archive(source)
        case "folder":
            return sources.folder(source)
        case "videos":
            return sources.videos(source)


def _check_says_where(source: SourceParameters) -> None:
    """Refuse an empty place, only now: whoever works on another task need not have this data."""
    places = {
        "archive": ("addresses", source.archive.addresses),
        "folder": ("path", source.folder.path),
        "videos": ("path", source.videos.path),
    }
    key, place = places.get(source.kind, ("", "built in"))
    if not place:
        raise BadInputError(
            f"source.kind is '{source.kind}', so source.{source.kind}.{key} must say where the "
            "data is: in sources.yml, or by --params"
        )


def render_scenes(scene: SceneParameters, sources: Sources) -> Recipe:
    """Render our own sequences, one job each, with a depth map for each."""
    further, identity = sources.further_photographs(scene.photographs)
    splits: dict[Split, int] = {
        "train": scene.train,
        "validation": scene.validation,
        "test": scene.test,
    }
    jobs = [
        Job(
            (*_frame_names(scene, split, number), _depth_name(split, number)),
            partial(_render, scene, split, number, photographs),
        )
        for split, count in splits.items()
        for photographs in [[*sources.photographs(split), *(further if split == "train" else ())]]
        for number in range(count)
    ]
    made_from = fingerprint("download", versions.RENDER, scene, *([identity] if identity else []))
    return Recipe(made_from, lambda: Plan(jobs, {"layout": "frames"}))


def _render(
    scene: SceneParameters,
    split: Split,
    number: int,
    photographs: Sequence[LazyImage],
    wanted: Collection[str],
) -> Iterator[tuple[str, Any]]:
    frames = render_frames(scene, split, number, photographs)
    for name, image in zip(_frame_names(scene, split, number), frames, strict=True):
        if name in wanted:
            yield name, image
    depth = render_depth(scene, split, number, photographs)
    yield _depth_name(split, number), np.rint(depth * 65535).astype(np.uint16)


def _frame_names(scene: SceneParameters, split: Split, number: int) -> list[str]:
    return [f"{split}/scene_{number:03d}/{frame:06d}.png" for frame in range(scene.frames)]


def _depth_name(split: Split, number: int) -> str:
    return f"depth/{split}/scene_{number:03d}.png"
