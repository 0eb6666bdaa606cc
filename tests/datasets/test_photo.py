"""A picture comes back with its depth, transparency, metadata and colours, and upright."""

import io
import re
from dataclasses import replace

import cv2
import numpy as np
import pytest
import tifffile
from PIL import ExifTags, ImageCms, ImageOps
from PIL import Image as PillowImage

from idemnet.datasets.photo import PhotoFile, decode_photo, encode_photo
from idemnet.errors import BadInputError

RNG = np.random.default_rng(0)
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def saved(array: np.ndarray, kind: str, **options) -> bytes:
    content = io.BytesIO()
    PillowImage.fromarray(array).save(content, kind, **options)
    return content.getvalue()


def pixels_of(data: bytes) -> np.ndarray:
    return np.asarray(PillowImage.open(io.BytesIO(data)))


@pytest.mark.parametrize("suffix", [".png", ".tif", ".bmp"])
@pytest.mark.parametrize("shape", [(9, 13), (9, 13, 3), (1, 1, 3)])
def test_eight_bits_come_back_as_they_were(suffix, shape):
    array = RNG.integers(0, 256, shape, np.uint8)
    kind = {".png": "PNG", ".tif": "TIFF", ".bmp": "BMP"}[suffix]
    photo = decode_photo(saved(array, kind), f"a{suffix}")
    assert (photo.pixels.dtype, photo.grey) == (np.uint8, len(shape) == 2)
    assert (pixels_of(encode_photo(photo, suffix)) == array).all()


@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_transparency_stays_as_it_is(suffix, channels):
    array = RNG.integers(0, 256, (9, 13, channels), np.uint8)
    kind = {".png": "PNG", ".tif": "TIFF"}[suffix]
    photo = decode_photo(saved(array, kind), f"a{suffix}")
    assert (pixels_of(encode_photo(photo, suffix)) == array).all()
    darker = replace(photo, pixels=photo.pixels // 2)
    assert (pixels_of(encode_photo(darker, suffix))[:, :, -1] == array[:, :, -1]).all()


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_sixteen_bits_of_png_stay_sixteen(channels):
    array = RNG.integers(0, 65536, (9, 13, channels), np.uint16)
    [done, data] = cv2.imencode(".png", array)
    assert done
    photo = decode_photo(data.tobytes(), "a.png")
    assert photo.pixels.dtype == np.uint16
    back = cv2.imdecode(np.frombuffer(encode_photo(photo, ".png"), np.uint8), cv2.IMREAD_UNCHANGED)
    assert back.dtype == np.uint16
    assert (back.reshape(array.shape) == array).all()


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_sixteen_bits_of_tiff_stay_sixteen(channels):
    array = RNG.integers(0, 65536, (9, 13, channels), np.uint16)[:, :, 0 if channels == 1 else ...]
    content = io.BytesIO()
    tifffile.imwrite(
        content, array, photometric="minisblack" if channels == 1 else "rgb", iccprofile=PROFILE,
        extrasamples=["unassalpha"] if channels == 4 else None,
    )  # fmt: skip
    photo = decode_photo(content.getvalue(), "a.tif")
    again = io.BytesIO(encode_photo(photo, ".tif"))
    assert (tifffile.imread(again) == array).all()
    again.seek(0)
    assert PillowImage.open(again).info.get("icc_profile", PROFILE) == PROFILE


def test_colours_one_after_the_other_are_refused_not_mixed_up():
    content = io.BytesIO()
    array = RNG.integers(0, 65536, (3, 9, 13), np.uint16)
    tifffile.imwrite(content, array, photometric="rgb", planarconfig="separate")
    with pytest.raises(BadInputError, match="one after the other"):
        decode_photo(content.getvalue(), "a.tif")


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tif"])
def test_metadata_and_profile_are_kept(suffix):
    exif = PillowImage.Exif()
    exif[ExifTags.Base.Artist] = "somebody"
    exif[ExifTags.Base.Orientation] = 6
    kind = {".jpg": "JPEG", ".png": "PNG", ".webp": "WEBP", ".tif": "TIFF"}[suffix]
    array = RNG.integers(0, 256, (9, 13, 3), np.uint8)
    photo = decode_photo(saved(array, kind, exif=exif, icc_profile=PROFILE), f"a{suffix}")
    back = PillowImage.open(io.BytesIO(encode_photo(photo, suffix)))
    assert back.size == (9, 13)  # a quarter turn
    assert back.getexif()[ExifTags.Base.Artist] == "somebody"
    assert back.getexif().get(ExifTags.Base.Orientation, 1) == 1
    assert back.info["icc_profile"] == PROFILE


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("deep", [False, True])
def test_pictures_are_turned_as_pillow_turns_them(orientation, deep):
    exif = PillowImage.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    array = RNG.integers(0, 256, (5, 7, 3), np.uint8)
    expected = ImageOps.exif_transpose(PillowImage.open(io.BytesIO(saved(array, "PNG", exif=exif))))
    data = saved(array, "PNG", exif=exif)
    if deep:
        photo = decode_photo(data, "a.png")
        data = encode_photo(
            replace(
                photo, pixels=array.astype(np.uint16) * 257,
                metadata=replace(photo.metadata, exif=exif.tobytes()),
            ),
            ".png",
        )  # fmt: skip
    photo = decode_photo(data, "a.png")
    assert (photo.pixels // (257 if deep else 1) == np.asarray(expected)).all()


def test_what_is_transparent_lies_on_white_in_formats_without_transparency():
    array = np.zeros((8, 8, 4), np.uint8)
    photo = decode_photo(saved(array, "PNG"), "a.png")
    assert pixels_of(encode_photo(photo, ".jpg")).min() > 250


def test_sixteen_bits_are_rounded_where_there_are_only_eight():
    array = RNG.integers(0, 65536, (9, 13, 3), np.uint16)
    photo = decode_photo(cv2.imencode(".png", array[:, :, ::-1])[1].tobytes(), "a.png")
    back = pixels_of(encode_photo(photo, ".bmp"))
    assert (back == np.rint(array / 257)).all()


def test_jpeg_stays_close():
    smooth = np.add.outer(np.arange(64), np.arange(64))[:, :, None].repeat(3, 2).astype(np.uint8)
    photo = decode_photo(saved(smooth, "JPEG", quality=95), "a.jpg")
    back = pixels_of(encode_photo(photo, ".jpg")).astype(int)
    assert np.abs(back - photo.pixels).mean() < 1


def test_grey_stays_grey_though_channels_come_back_a_little_different():
    photo = decode_photo(saved(RNG.integers(0, 256, (6, 6), np.uint8), "PNG"), "a.png")
    moved = replace(photo, pixels=np.clip(photo.pixels, 1, 254) + np.array([1, 0, 0], np.uint8))
    back = pixels_of(encode_photo(moved, ".png"))
    assert (back == np.clip(photo.pixels[:, :, 0], 1, 254)).all()


@pytest.mark.parametrize("mode", ["P", "1"])
def test_few_colours_become_full_colour(mode):
    content = io.BytesIO()
    PillowImage.fromarray(RNG.integers(0, 256, (6, 6, 3), np.uint8)).convert(mode).save(
        content, "PNG"
    )
    expected = np.asarray(PillowImage.open(content).convert("RGB"))
    photo = decode_photo(content.getvalue(), "a.png")
    assert (photo.pixels == expected).all()


def test_what_cannot_be_given_back_is_refused():
    pages = io.BytesIO()
    one = PillowImage.new("RGB", (4, 4))
    one.save(pages, "TIFF", save_all=True, append_images=[one])
    with pytest.raises(BadInputError, match="has 2 pages"):
        decode_photo(pages.getvalue(), "a.tif")
    whole = saved(RNG.integers(0, 256, (64, 64, 3), np.uint8), "PNG")
    with pytest.raises(BadInputError, match="cut off"):
        decode_photo(whole[:-100], "a.png")
    with pytest.raises(BadInputError, match="is none of"):
        encode_photo(decode_photo(whole, "a.png"), ".gif")


def test_a_picture_for_which_memory_is_too_short_is_refused_by_its_header(tmp_path):
    """What it says grows with depth and transparency; nothing is decoded, not even a cut file."""
    shallow = RNG.integers(0, 256, (1000, 2000, 3), np.uint8)
    deep = np.zeros((1000, 2000, 4), np.uint16)
    cv2.imwrite(str(tmp_path / "a.png"), shallow)
    cv2.imwrite(str(tmp_path / "deep.png"), deep)
    tifffile.imwrite(tmp_path / "deep.tif", deep, photometric="rgb", extrasamples=["unassalpha"])
    (tmp_path / "a.png").write_bytes((tmp_path / "a.png").read_bytes()[:5000])
    needed = {}
    for name in ("a.png", "deep.png", "deep.tif"):
        with pytest.raises(BadInputError) as refused:
            PhotoFile(tmp_path / name, memory=1_000_000)()
        said = rf"{name}: to read and write 2000x1000 takes (\d+) MB of memory, and 1 are allowed"
        needed[name] = int(re.search(said, str(refused.value))[1])
    assert needed["deep.png"] - needed["a.png"] == pytest.approx(9 * 2 * (8 - 3), abs=10)
    assert needed["deep.tif"] == pytest.approx(needed["deep.png"], abs=10)
    assert PhotoFile(tmp_path / "deep.png", memory=16_000_000_000)().pixels.dtype == np.uint16
