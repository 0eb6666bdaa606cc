"""Freely licensed photographs for the built-in scenes, from files of installed packages.

Nothing is downloaded, and packages are not imported to find their files, which would take seconds.
"""

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image as PillowImage

from idemnet.errors import BadInputError
from idemnet.imaging.image import Image

LONGEST = 1600
"""Pixels; about what scenes need."""

Split = Literal["train", "validation", "test"]


@dataclass(frozen=True)
class Photograph:
    """A photograph in an installed package; calling it reads it."""

    name: str
    split: Split
    """The only split it is used in, so that no test picture is seen in training."""
    package: str
    path: str
    """Path of the file, relative to site-packages."""
    author: str
    licence: str

    def __call__(self) -> Image:
        """Read it; grey photographs get three equal channels."""
        try:
            with PillowImage.open(_installed(self.package) / self.path) as picture:
                return np.array(picture.convert("RGB"))
        except (PackageNotFoundError, FileNotFoundError) as error:
            raise BadInputError(
                f"photograph {self.name!r} not found: reinstall {self.package}, which contains it"
            ) from error


@dataclass(frozen=True)
class OwnPhotograph:
    """A photograph in a user's folder; calling it reads it."""

    path: Path

    def __call__(self) -> Image:
        return _read_reduced(self.path)


@lru_cache(maxsize=32)
def _read_reduced(path: Path) -> Image:
    """Read a photograph, halved until it is no longer than LONGEST.

    Camera pictures are not sharp at pixel level; reducing them makes them so.
    """
    with PillowImage.open(path) as picture:
        halvings = max(0, math.ceil(math.log2(max(picture.size) / LONGEST)))
        return np.array(picture.convert("RGB").reduce(2**halvings))


@cache
def _installed(package: str) -> Path:
    return Path(str(distribution(package).locate_file("")))


def _scikit_image(name: str, split: Split, file: str, author: str, licence: str) -> Photograph:
    return Photograph(name, split, "scikit-image", f"skimage/data/{file}", author, licence)


def _scikit_learn(name: str, split: Split, file: str, author: str, licence: str) -> Photograph:
    return Photograph(
        name, split, "scikit-learn", f"sklearn/datasets/images/{file}", author, licence
    )


# Licences are as the packages state them, in skimage/data/_fetchers.py and
# sklearn/datasets/images/README.txt. Not used: pictures without a stated licence (motorcycle,
# moon, page; matplotlib's grace_hopper) and unusual subjects (cells, stars, drawings).
PHOTOGRAPHS: tuple[Photograph, ...] = (
    _scikit_image("astronaut", "train", "astronaut.png", "NASA", "public domain"),
    _scikit_image("brick", "train", "brick.png", "CC0Textures (Bricks25)", "CC0"),
    _scikit_image("coffee", "train", "coffee.png", "Rachel Michetti", "CC0"),
    _scikit_image(
        "coins", "train", "coins.png", "Brooklyn Museum", "no known copyright restrictions"
    ),
    _scikit_image("gravel", "train", "gravel.png", "CC0Textures (Gravel04)", "CC0"),
    _scikit_image("rocket", "train", "rocket.jpg", "SpaceX", "public domain"),
    # The README names danielbuechele for it, but links to vultilion's page.
    _scikit_learn(
        "flower", "train", "flower.jpg", "vultilion, danielbuechele (Flickr)", "CC BY 2.0"
    ),
    _scikit_image("camera", "validation", "camera.png", "Lav Varshney", "CC0"),
    _scikit_image("grass", "validation", "grass.png", "linolafett (DeviantArt)", "CC0"),
    _scikit_learn("china", "test", "china.jpg", "danielbuechele (Flickr)", "CC BY 2.0"),
    _scikit_image("chelsea", "test", "chelsea.png", "Stefan van der Walt", "CC0"),
)
