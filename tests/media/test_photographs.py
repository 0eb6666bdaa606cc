import subprocess
import sys
from importlib.metadata import distribution

import numpy as np
import pytest

from idemnet.errors import BadInputError
from idemnet.media.photographs import PHOTOGRAPHS, Photograph

every_photograph = pytest.mark.parametrize("photograph", PHOTOGRAPHS, ids=lambda photo: photo.name)


@every_photograph
def test_comes_with_its_package_and_not_from_the_network(photograph):
    files = {str(file) for file in distribution(photograph.package).files}
    assert photograph.path in files


@every_photograph
def test_may_be_used_and_says_by_whose_leave(photograph):
    assert photograph.author
    free = {"CC0", "CC BY 2.0", "public domain", "no known copyright restrictions"}
    assert photograph.licence in free


@every_photograph
def test_is_a_colour_picture_with_something_on_it(photograph):
    picture = photograph()
    assert picture.dtype == np.uint8
    assert picture.ndim == 3
    assert picture.shape[2] == 3
    assert min(picture.shape[:2]) >= 240
    assert picture.std() > 15


def test_splits_share_no_photograph():
    pictures = {photograph().tobytes() for photograph in PHOTOGRAPHS}
    names = {photograph.name for photograph in PHOTOGRAPHS}
    assert len(pictures) == len(names) == len(PHOTOGRAPHS)


def test_every_split_has_more_than_one():
    splits = [photograph.split for photograph in PHOTOGRAPHS]
    assert set(splits) == {"train", "validation", "test"}
    assert all(splits.count(split) > 1 for split in splits)


def test_reading_imports_none_of_the_packages():
    code = (
        "import sys; from idemnet.media.photographs import PHOTOGRAPHS\n"
        "for photograph in PHOTOGRAPHS: photograph()\n"
        "sys.exit(bool({'skimage', 'sklearn', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("package", ["scikit-image", "no-such-package"])
def test_missing_file_is_named_in_one_sentence(package):
    photograph = Photograph("lena", "train", package, "skimage/data/lena.png", "nobody", "none")
    with pytest.raises(BadInputError, match=f"'lena' not found: reinstall {package}"):
        photograph()
