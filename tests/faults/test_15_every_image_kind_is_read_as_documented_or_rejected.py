"""Every kind of image is read as documented, pixel by pixel, or rejected: no silent loss."""

import io

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image as PillowImage

from idemnet.errors import BadInputError
from idemnet.media.image_files import ImageFile, decode_image, encode_png, register_heif
from idemnet.media.read_photo import decode_photo

from ..media.test_image_files import saved

RNG = np.random.default_rng(0)
RGB = RNG.integers(0, 256, (6, 5, 3), np.uint8)
GREY = RGB[:, :, 0]
GREY16 = RNG.integers(0, 65536, (6, 5)).astype(np.uint16)
RGB16 = RNG.integers(0, 65536, (6, 5, 3)).astype(np.uint16)
OPAQUE = np.full((6, 5, 1), 255, np.uint8)
CLEAR = OPAQUE.copy()
CLEAR[2, 3] = 254


def pillow(array: np.ndarray, mode: str | None = None, kind: str = "PNG", **options) -> bytes:
    image = PillowImage.fromarray(array)
    return saved(image.convert(mode) if mode else image, kind, **options)


def tiff(array: np.ndarray, **options) -> bytes:
    content = io.BytesIO()
    tifffile.imwrite(content, array, **options)
    return content.getvalue()


def png16(array: np.ndarray) -> bytes:
    return bytes(cv2.imencode(".png", array)[1])


def grey_png_with_alpha_in_16_bits() -> bytes:
    return encode_png(np.dstack([GREY16, np.full_like(GREY16, 65535)]))


def three(grey: np.ndarray) -> np.ndarray:
    return np.repeat(grey[:, :, None], 3, axis=2)


PALETTE = PillowImage.fromarray(RGB).quantize(4)
COLOURS = np.array(PALETTE.getpalette(), np.uint8).reshape(-1, 3)
TRANSPARENT = r"has transparent pixels, which would be lost"
KEPT_WHOLE = "16-bit colour is not supported"

TABLE = {
    "RGB": ("a.png", pillow(RGB), RGB),
    "grey": ("a.png", pillow(GREY), three(GREY)),
    "grey in JPEG": ("a.jpg", pillow(np.full_like(GREY, 77), kind="JPEG"), np.full_like(RGB, 77)),
    "black and white": ("a.png", pillow(GREY > 127), three(np.where(GREY > 127, 255, 0))),
    "palette": ("a.png", saved(PALETTE), COLOURS[np.asarray(PALETTE)]),
    "LA, opaque": ("a.png", pillow(np.dstack([GREY, OPAQUE])), three(GREY)),
    "LA": ("a.png", pillow(np.dstack([GREY, CLEAR])), TRANSPARENT),
    "RGBA, opaque": ("a.png", pillow(np.dstack([RGB, OPAQUE])), RGB),
    "RGBA": ("a.png", pillow(np.dstack([RGB, CLEAR])), TRANSPARENT),
    "RGBA in WebP": (
        "a.webp", pillow(np.dstack([RGB, CLEAR]), kind="WEBP", lossless=True), TRANSPARENT,
    ),
    "palette with a transparent colour": ("a.png", saved(PALETTE, transparency=0), TRANSPARENT),
    "RGB with a transparent colour": (
        "a.png", pillow(RGB, transparency=tuple(map(int, RGB[1, 1]))), TRANSPARENT,
    ),
    "RGB with a transparent colour that it has not": (
        "a.png", pillow(RGB // 2, transparency=(255, 255, 255)), RGB // 2,
    ),
    "CMYK": ("a.tif", pillow(RGB, "CMYK", "TIFF"), "colour mode CMYK"),
    "CMYK in JPEG": ("a.jpg", pillow(RGB, "CMYK", "JPEG"), "colour mode CMYK"),
    "Lab": ("a.tif", pillow(RGB, "LAB", "TIFF"), "colour mode LAB"),
    "16-bit grey": ("a.png", encode_png(GREY16), three(np.rint(GREY16 / 257))),
    "16-bit grey in TIFF": (
        "a.tif", tiff(GREY16, photometric="minisblack"), three(np.rint(GREY16 / 257)),
    ),
    "16-bit grey in TIFF, the other bytes first": (
        "a.tif",
        tiff(GREY16.astype(">u2"), photometric="minisblack", byteorder=">"),
        three(np.rint(GREY16 / 257)),
    ),
    "16-bit grey of which 0 is white": (
        "a.tif", tiff(GREY16, photometric="miniswhite"), "with 0 as white",
    ),
    "16-bit grey with alpha": ("a.png", grey_png_with_alpha_in_16_bits(), KEPT_WHOLE),
    "16-bit RGB": ("a.png", png16(RGB16), KEPT_WHOLE),
    "16-bit RGBA": ("a.png", png16(np.dstack([RGB16, GREY16])), KEPT_WHOLE),
    "16-bit RGB in TIFF": ("a.tif", tiff(RGB16, photometric="rgb"), KEPT_WHOLE),
    "32-bit grey": (
        "a.tif", tiff(GREY16.astype(np.uint32) * 65537, photometric="minisblack"), "colour mode I",
    ),
    "float": (
        "a.tif", tiff(GREY.astype(np.float32) / 255, photometric="minisblack"), "colour mode F",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLE)
def test_the_table_holds_pixel_by_pixel(kind):
    name, data, expected = TABLE[kind]
    if isinstance(expected, str):
        with pytest.raises(BadInputError, match=rf"^{name}: .*{expected}"):
            decode_image(data, name)
    else:
        assert (decode_image(data, name) == expected).all()


def test_all_values_of_16_bits_are_scaled_and_none_is_clipped():
    every = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    image = decode_image(encode_png(every), "a.png")
    assert (image == three(np.rint(every / 257))).all()


def test_a_picture_to_be_given_back_keeps_its_transparent_colour():
    """As `idemnet restore` reads it: there, transparency and 16 bits are kept."""
    name, data, _ = TABLE["RGB with a transparent colour"]
    alpha = decode_photo(data, name).alpha
    assert alpha is not None
    assert ((alpha == 0) == (RGB[1, 1] == RGB).all(axis=2)).all()
    grey = decode_photo(pillow(GREY, transparency=int(GREY[1, 1])), "a.png")
    assert grey.grey and ((grey.alpha == 0) == (GREY[1, 1] == GREY)).all()
    assert (decode_photo(TABLE["16-bit RGB in TIFF"][1], "a.tif").pixels == RGB16).all()


@pytest.mark.parametrize("kind", ["CMYK", "CMYK in JPEG"])
def test_cmyk_becomes_rgb_and_is_reported(kind):
    name, data, _ = TABLE[kind]
    photo = decode_photo(data, name)
    assert photo.losses == ("CMYK becomes RGB",)
    assert np.abs(photo.pixels.astype(int) - RGB).mean() < (40 if name == "a.jpg" else 1)


@pytest.mark.parametrize(("suffix", "kind"), [("heic", "HEIF"), ("avif", "AVIF"), ("gif", "GIF")])
def test_formats_that_lose_something_are_rejected_in_data_sets(suffix, kind):
    register_heif()
    data = pillow(RGB, kind=kind)
    with pytest.raises(
        BadInputError, match=rf"^a\.{suffix}: unsupported format '\.{suffix}', must be"
    ):
        decode_image(data, f"a.{suffix}")
    assert decode_photo(data, f"a.{suffix}").pixels.shape == RGB.shape
    for other in ("png", "jpg", "heic", "avif", "gif"):
        if other != suffix:
            with pytest.raises(BadInputError, match=rf"^a\.{other}: "):
                decode_photo(data, f"a.{other}")


@pytest.mark.parametrize("kind", ["Lab", "32-bit grey", "float"])
def test_what_cannot_be_given_back_is_rejected(kind):
    name, data, _ = TABLE[kind]
    with pytest.raises(BadInputError, match=r"colour mode \w+ is not supported"):
        decode_photo(data, name)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation, tmp_path):
    exif = PillowImage.Exif()
    exif[0x0112] = orientation
    data = saved(PillowImage.fromarray(RGB), exif=exif)
    upright = {
        1: RGB, 2: RGB[:, ::-1], 3: RGB[::-1, ::-1], 4: RGB[::-1],
        5: RGB.transpose(1, 0, 2), 6: np.rot90(RGB, -1), 7: np.rot90(RGB, 2).transpose(1, 0, 2),
        8: np.rot90(RGB),
    }[orientation]  # fmt: skip
    assert (decode_image(data, "a.png") == upright).all()
    path = tmp_path / "a.png"
    path.write_bytes(data)
    assert ImageFile(path, "a.png", len(data), None).size() == upright.shape[:2]
