"""Samples on the page: before/after sliders and crops."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from idemnet.imaging.difference import difference
from idemnet.imaging.image import Image
from idemnet.imaging.metrics import cap_psnr, psnr
from idemnet.reporting import pictures
from idemnet.reporting.formatting import signed
from idemnet.reporting.pictures import Window
from idemnet.reporting.tables import ARROW
from idemnet.steps.data import SampleImages
from idemnet.steps.metrics import ImageScores
from idemnet.tasks.task import Words

MOST = 8
"""Largest number of samples on the page, to keep it small."""


@dataclass(frozen=True)
class Picture:
    """A picture and its caption."""

    kind: str
    label: str
    uri: str
    note: str = ""


@dataclass(frozen=True)
class Large:
    """A large picture, not encoded yet, since all of them share a budget."""

    kind: str
    label: str
    note: str
    image: Image


@dataclass(frozen=True)
class Zoom:
    """The same crop of several pictures."""

    title: str
    note: str
    crops: tuple[Picture, ...]


@dataclass(frozen=True)
class ShownSample:
    name: str
    note: str
    width: int
    height: int
    pictures: tuple[Picture, ...]
    zooms: tuple[Zoom, ...]


def show_samples(
    samples: Sequence[SampleImages], rows: Sequence[ImageScores], words: Words
) -> list[ShownSample]:
    """Prepare samples for the page; every n-th if there are too many."""
    step = max(1, -(-len(samples) // MOST))
    scored = {(row.name, row.level): row for row in rows}
    chosen = [(one, *_look_at(one, words)) for one in samples[::step]]
    uris = iter(pictures.to_webp([one.image for _, large, _ in chosen for one in large]))
    return [
        ShownSample(
            sample.name,
            _note(sample, scored.get((sample.name, sample.level))),
            large[0].image.shape[1],
            large[0].image.shape[0],
            tuple(Picture(one.kind, one.label, next(uris), one.note) for one in large),
            zooms,
        )
        for sample, large, zooms in chosen
    ]


def _look_at(sample: SampleImages, words: Words) -> tuple[list[Large], tuple[Zoom, ...]]:
    """Return a sample's large pictures, and its crops."""
    images = {kind: pictures.read(picture) for kind, picture in sample.pictures.items()}
    changed, times = difference(images["degraded"], images["restored"])
    last = next(kind for kind in images if kind.startswith("pass_"))
    large = [
        ("degraded", words.degraded, images["degraded"]),
        ("restored", "restored", images["restored"]),
        ("clean", words.clean, images["clean"]),
        ("difference", "difference", changed),
        (last, last.replace("_", " "), images[last]),
    ]
    notes = {"difference": f"x{times}"}
    return [
        Large(kind, label, notes.get(kind, ""), pictures.shrink(image))
        for kind, label, image in large
    ], _zoom(images, words)


def _zoom(images: Mapping[str, Image], words: Words) -> tuple[Zoom, ...]:
    best, worst = pictures.find_windows(images["degraded"], images["restored"], images["clean"])
    three = {"degraded": words.degraded, "restored": "restored", "clean": words.clean}
    numbers = range(1, 1 + sum(kind.startswith("iteration_") for kind in images))
    steps = {
        "degraded": words.degraded,
        **{f"iteration_{number}": f"iteration {number}" for number in numbers},
        "restored": f"iteration {len(numbers) + 1}",
    }
    return (
        Zoom("Best patch", _where(best), _crops(images, best, three)),
        Zoom("Worst patch", _where(worst), _crops(images, worst, three)),
        Zoom("Best patch, iteration by iteration", "", _crops(images, best, steps)),
    )


def _crops(
    images: Mapping[str, Image], window: Window, labels: Mapping[str, str]
) -> tuple[Picture, ...]:
    clean = window.cut(images["clean"])
    return tuple(
        Picture(
            kind,
            label,
            pictures.to_png(window.cut(images[kind])),
            "" if kind == "clean" else f"{cap_psnr(psnr(window.cut(images[kind]), clean)):.2f} dB",
        )
        for kind, label in labels.items()
    )


def _where(window: Window) -> str:
    return (
        f"{signed(window.gain)} dB; {window.side} pixels a side, from column {window.left}, "
        f"row {window.top}"
    )


def _note(sample: SampleImages, row: ImageScores | None) -> str:
    parts = [f"level {sample.level}"] if sample.level else []
    if row:
        before, after = row.input.psnr, row.restored.psnr
        parts.append(f"{before:.2f} {ARROW} {after:.2f} dB ({signed(row.gain)})")
    return ", ".join(parts)
