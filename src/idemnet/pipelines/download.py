"""download: raw data from where the parameters say."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from idemnet.errors import BadInputError
from idemnet.fetch.sources import (
    Archive,
    OwnPhotographs,
    list_images,
    list_photographs,
    list_videos,
    unpack,
    use_images,
    use_videos,
)
from idemnet.imaging.image import LazyImage, Split
from idemnet.imaging.scenes import render_depth, render_frames
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.parameters.source import MixedSourceParameters, SceneParameters, SourceParameters
from idemnet.steps import versions
from idemnet.steps.mix import Mix, Part
from idemnet.steps.plan import Plan, Recipe, step
from idemnet.storage.executor import Job


def download(source: SourceParameters) -> Recipe | Mix[Recipe]:
    """Choose by kind where the raw data comes from; nothing is fetched or rendered yet.

    Raises:
        BadInputError: If the parameters do not say where, or nothing usable is there.
    """
    if source.kind != "mix":
        recipe = _download_one(source, "source")
        return name_data(recipe, source.name) if source.name else recipe
    parts = {
        name: Part(
            _download_one(one, f"source.mix.{name}"),
            one.weight,
            {"synthesize": one.synthesize, "crop": one.crop},
        )
        for name, one in sorted(source.mix.items())  # --params changes the order in YAML
    }
    return Mix(source.name or " + ".join(parts), parts)


def _download_one(source: SourceParameters | MixedSourceParameters, key: str) -> Recipe:
    _check_says_where(source, key)
    expected = source.expected
    match source.kind:
        case "archive":
            recipe = unpack(Archive(source.archive), source.layout, expected=expected)
        case "folder":
            recipe = use_images(list_images(source.folder.path), source.layout, expected=expected)
        case "videos":
            recipe = use_videos(list_videos(source.videos.path), expected=expected)
        case _:
            recipe = render(source.builtin, list_photographs(source.builtin.photographs))
    about = {"licence": source.licence, "credit": source.credit, "hub": _on_the_hub(source)}
    return replace(recipe, plan=partial(_plan_with, recipe, about))


def _on_the_hub(source: SourceParameters | MixedSourceParameters) -> str:
    """Return OWNER/NAME of an archive's data set on the Hub, or nothing."""
    addresses = source.archive.addresses if source.kind == "archive" else ()
    found = (re.match(r"hf://datasets/([\w.-]+/[\w.-]+)/", address) for address in addresses)
    return next((match[1] for match in found if match), "")


def _plan_with(recipe: Recipe, about: Mapping[str, str]) -> Plan:
    """Let the manifest say more, if there is more; it does not change the fingerprint."""
    plan = recipe.plan()
    return replace(plan, about={**plan.about, **{key: one for key, one in about.items() if one}})


@step("name", versions.FETCH)
def name_data(recipe: Recipe, name: str) -> Plan:
    """Let the manifest say what reports call the data set."""
    return _plan_with(recipe, {"dataset": name})


def _check_says_where(source: SourceParameters | MixedSourceParameters, where: str) -> None:
    """Refuse an empty place, only now: whoever works on another task need not have this data."""
    places = {
        "archive": ("addresses", source.archive.addresses),
        "folder": ("path", source.folder.path),
        "videos": ("path", source.videos.path),
    }
    key, place = places.get(source.kind, ("", "built in"))
    if not place:
        raise BadInputError(
            f"{where}.kind is '{source.kind}', so {where}.{source.kind}.{key} must say where the "
            "data is: in the task's parameters, or by --params"
        )


@step("download", versions.RENDER)
def render(scene: SceneParameters, further: OwnPhotographs | None) -> Plan:
    """Render our own sequences, one job each, with a depth map for each."""
    splits: dict[Split, int] = {
        "train": scene.train,
        "validation": scene.validation,
        "test": scene.test,
    }
    photographs: dict[Split, list[LazyImage]] = {
        split: [one for one in PHOTOGRAPHS if one.split == split] for split in splits
    }
    photographs["train"] += further.photographs if further else []
    jobs = [
        Job(
            (*_frame_names(scene, split, number), _depth_name(split, number)),
            partial(_render, scene, split, number, photographs[split]),
        )
        for split, count in splits.items()
        for number in range(count)
    ]
    return Plan(jobs, {"layout": "frames"})


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
