"""An image that is truncated, changed or not what its name says is reported before training."""

import hashlib
import os

import numpy as np
import pytest
import yaml
from kedro.io import DatasetError
from PIL import Image as PillowImage
from PIL import ImageFile as PillowImageFile

from idemnet.datasets.patches import PATCHES, PatchesDataset
from idemnet.errors import BadInputError
from idemnet.media.image_files import FORMATS, ImageFile, decode_image, encode_png, write_image

from ..media.test_image_files import RGB, saved


def test_a_run_names_the_file_and_trains_nothing(project):
    """One image of a folder of pairs has lost its end; used in place, nobody has hashed it."""
    pictures = project.folder / "set"
    image = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    for sequence in ("a_07_00", "b_07_00"):
        for role in ("blur", "sharp"):
            write_image(pictures, f"train/{sequence}/{role}/1.png", image)
    torn = pictures / "train/b_07_00/sharp/1.png"
    os.truncate(torn, torn.stat().st_size - 12)
    source = {"kind": "folder", "layout": "gopro", "folder": {"path": str(pictures)}}
    settings = yaml.safe_dump({"deblur": {"source": source}})
    (project.folder / "conf/local/parameters_deblur.yml").write_text(settings)
    refused = project.run("kedro", "run", "--pipeline=train_deblur", check=False)
    assert refused.returncode == 1
    assert f"{torn}: is truncated" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (project.folder / "data/06_models").exists()


def test_a_changed_byte_of_a_patch_is_noticed_when_training_asks_for_patches(prepared, tmp_path):
    """Training maps patches and would never see it."""
    import shutil

    shutil.copytree(prepared.folder / "data/05_model_input/deblur", tmp_path / "deblur")
    dataset = PatchesDataset(str(tmp_path / "deblur" / "builtin"))
    assert dataset.load().splits
    path = tmp_path / "deblur/builtin/train" / PATCHES
    with path.open("r+b") as file:
        file.seek(-5, os.SEEK_END)
        byte = file.read(1)
        file.seek(-5, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(
        DatasetError, match=r"1 of 4 files are missing or changed: train/patches\.npy"
    ):
        dataset.load()


def test_pillow_is_not_told_to_accept_what_is_cut():
    import idemnet.media.read_photo  # noqa: F401  # whatever is imported

    assert PillowImageFile.LOAD_TRUNCATED_IMAGES is False


@pytest.mark.filterwarnings("ignore:.*(Truncated|Corrupt EXIF)")
@pytest.mark.parametrize("cut", [0, 40, "half", -12, -1])
@pytest.mark.parametrize("kind", ["png", "jpg", "webp", "tif", "bmp"])
@pytest.mark.parametrize("smooth", [False, True])
def test_a_truncated_file_is_rejected_by_name(kind, cut, smooth):
    """Also where the bytes that are missing carry no pixel, as the last ones of a smooth JPEG."""
    picture = np.random.default_rng(1).integers(0, 256, (63, 61, 3), np.uint8)
    if smooth:
        picture = np.add.outer(np.arange(63), np.arange(61))[:, :, None].repeat(3, 2)
    data = saved(PillowImage.fromarray(picture.astype(np.uint8)), FORMATS[f".{kind}"])
    assert decode_image(data, f"photo.{kind}").shape == (63, 61, 3)
    end = len(data) // 2 if cut == "half" else cut
    with pytest.raises(BadInputError, match=rf"^photo\.{kind}: "):
        decode_image(data[:end], f"photo.{kind}")


def test_a_jpeg_may_have_a_thumbnail_and_something_behind_it():
    inside = saved(PillowImage.fromarray(RGB), "JPEG")
    segment = b"\xff\xe1" + (len(inside) + 2).to_bytes(2, "big") + inside
    data = inside[:2] + segment + inside[2:]
    assert decode_image(data + b"a film", "a.jpg").shape == RGB.shape
    with pytest.raises(BadInputError, match="truncated"):
        decode_image(data[:-2], "a.jpg")  # the thumbnail's end is not the picture's


def test_names_that_lie_are_rejected():
    with pytest.raises(BadInputError, match=r"x\.png: is not a PNG image"):
        decode_image(b"<html>not found</html>", "x.png")
    with pytest.raises(BadInputError, match=r"x\.png: is not a PNG image"):
        decode_image(saved(PillowImage.fromarray(RGB), "TIFF"), "x.png")
    with pytest.raises(BadInputError, match=r"unsupported format '\.gif', must be one of"):
        decode_image(saved(PillowImage.fromarray(RGB), "GIF"), "x.gif")


def test_a_flipped_byte_is_rejected(tmp_path):
    data = bytearray(encode_png(RGB))
    path = tmp_path / "a.png"
    path.write_bytes(data)
    stored = ImageFile(path, "a.png", len(data), hashlib.sha256(data).hexdigest())
    assert (stored() == RGB).all()
    data[30] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadInputError, match=r"a\.png: has changed since it was recorded"):
        stored()
