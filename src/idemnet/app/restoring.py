"""Read, restore and display pictures for the page."""

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from tempfile import mkdtemp

from idemnet.errors import BadInputError
from idemnet.imaging.difference import difference
from idemnet.imaging.image import Image
from idemnet.imaging.metrics import mean_change
from idemnet.inference.restorer import Restorer
from idemnet.media.image_files import encode_png, open_image
from idemnet.media.photo import Photo
from idemnet.media.read_photo import decode_photo
from idemnet.media.write_photo import encode_photo, result_name, to_eight_bits
from idemnet.reporting.pictures import RUNGS, shrink, to_webp

MAX_MEGABYTES = 64
MAX_MEGAPIXELS = 24
"""Restoring this many takes a minute or more on two cores; `idemnet restore` takes any size."""
SHARPER = ((2048, 95), (1280, 95), *RUNGS)
"""Longest side and quality of the pictures in the comparison, tried in this order."""
SIDE = 256
"""Side of the central part on which changes are measured: restoring the whole picture for every
pass of the repeat curve would take too long, and numbers are only comparable for the same part."""
TALLEST = 620
"""Size of these pictures, in CSS pixels."""


def read_photo(path: Path) -> Photo:
    """Read an uploaded picture; reject pictures that are too large by their header.

    Raises:
        BadInputError: If it is too large, or not a picture that can be written back.
    """
    data = path.read_bytes()
    header = open_image(io.BytesIO(data), path.name, for_photo=True)
    megapixels = header.width * header.height / 1e6
    if megapixels > MAX_MEGAPIXELS:
        raise BadInputError(
            f"{path.name}: has {megapixels:.1f} megapixels, more than this page's limit of "
            f"{MAX_MEGAPIXELS}: scale it down, or use `idemnet restore`"
        )
    return decode_photo(data, path.name)


def restore_photo(
    photo: Photo, restorer: Restorer, passes: int, advance: Callable[..., object]
) -> tuple[Photo, list[Image]]:
    """Restore a picture; return the result and the pictures to show for each iteration.

    Each pass restores the previous result, rounded as if it had been saved and reopened.
    """
    pixels = photo.pixels
    steps = [shrink(to_eight_bits(pixels))]
    for done in range(passes):
        advance((done, passes), "Restoring", unit="passes")
        iterations = restorer.iterations(pixels)
        steps += [shrink(to_eight_bits(one)) for one in iterations]
        pixels = iterations[-1]
    return replace(photo, pixels=pixels), steps


def middle(picture: Image) -> Image:
    """Return the central part on which the page measures changes, at most SIDE x SIDE."""
    height, width = picture.shape[:2]
    top, left = max(0, height - SIDE) // 2, max(0, width - SIDE) // 2
    return picture[top : top + SIDE, left : left + SIDE]


def name_middle(picture: Image) -> str:
    """Describe which part of a picture `middle` returns."""
    part = middle(picture)
    if part.shape == picture.shape:
        return "on the whole picture"
    height, width = part.shape[:2]
    return f"on the {width} x {height} pixels in the middle"


def write_result(photo: Photo, original: Path) -> Path:
    """Write a picture in its original format, in its own folder next to the upload."""
    folder = Path(mkdtemp(dir=original.parent))
    name = Path(result_name(original))
    path = folder / f"{name.stem}_restored{name.suffix}"
    path.write_bytes(encode_photo(photo, path.suffix))
    return path


def write_view(picture: Image, path: Path) -> Path:
    """Write a picture at full resolution for the browser."""
    path.write_bytes(encode_png(picture))
    return path


def show_steps(steps: Sequence[Image], passes: int) -> str:
    """Return the pictures after each iteration, the last one visible."""
    iterations = (len(steps) - 1) // passes
    figures = []
    for number, uri in enumerate(to_webp(steps)):
        done, iteration = divmod(number - 1, iterations)
        words = f"after iteration {iteration + 1} of {iterations}" if number else "original"
        if number and passes > 1:
            words += f", pass {done + 1} of {passes}"
        hidden = "" if number == len(steps) - 1 else "hidden"
        figures.append(f"<figure {hidden}>{_image(uri, steps[0], words)}</figure>")
    return "".join(figures)


def show_difference(before: Image, after: Image) -> str:
    """Show the magnified difference, with its magnification and mean."""
    changed, times = difference(before, after)
    view = shrink(changed)
    [uri] = to_webp([view])
    change = mean_change(middle(before), middle(after))
    words = (
        f"Magnified {times} times; grey means no change. Mean change, "
        f"{name_middle(before)}, in grey levels of 255: {change:.2f}."
    )
    return f"<figure>{_image(uri, view, words)}</figure>"


def show_both(before: Image, after: Image, whole: Sequence[str]) -> str:
    """Return a before/after slider that mouse, touch and arrow keys move.

    Args:
        before: Picture on the left.
        after: Picture on the right, of the same size.
        whole: Addresses of both at full resolution, fetched for 100%.
    """
    height, width = before.shape[:2]
    widest = min(max(2 * width, 320), round(TALLEST * width / height))
    left, right = to_webp([before, after], SHARPER)
    return (
        f'<div class="stage" data-width="{width}" data-height="{height}" '
        f'style="aspect-ratio: {width} / {height}; max-width: {widest}px">'
        '<div class="pan" tabindex="-1" aria-label="Both pictures"><div class="sheet">'
        f"{_side('left', left, whole[0], 'before')}{_side('right', right, whole[1], 'after')}"
        '</div></div><span class="corner left">before</span><span class="corner right">after</span>'
        '<input type="range" aria-label="Border between before and after">'
        '<span class="border" aria-hidden="true"></span></div>'
        '<label class="zoom"><input type="checkbox" id="zoom">100%, pixel by pixel</label>'
    )


def _side(side: str, uri: str, whole: str, words: str) -> str:
    whole = escape(whole)
    return f'<img class="{side}" src="{uri}" data-whole="{whole}" alt="{words}" draggable="false">'


def show_picture(photo: Photo, name: str) -> str:
    """Show a picture before it is restored."""
    view = shrink(to_eight_bits(photo.pixels))
    [uri] = to_webp([view])
    height, width = photo.pixels.shape[:2]
    return f"<figure>{_image(uri, view, f'{name}: {width} x {height} pixels')}</figure>"


def _image(uri: str, picture: Image, words: str) -> str:
    height, width = picture.shape[:2]
    return (
        f'<img src="{uri}" width="{width}" height="{height}" alt="{escape(words)}">'
        f"<figcaption>{escape(words)}</figcaption>"
    )
