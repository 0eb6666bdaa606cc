"""Every kind of image file is read by the stated rule or refused; nothing is lost silently."""

import io
import struct
import zlib

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PillowImage

from idemnet.datasets.images import MAX_PIXELS, ImageFile, decode_image, encode_png
from idemnet.errors import BadInputError

RGB = np.random.default_rng(0).integers(0, 256, (6, 5, 3), np.uint8)
GREY16 = np.array([[0, 1, 128, 129], [257, 32768, 65534, 65535]], np.uint16)


def saved(image: PillowImage.Image, kind: str = "PNG", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def test_rgb_comes_back_as_it_was():
    assert (decode_image(encode_png(RGB), "a.png") == RGB).all()
    assert (decode_image(saved(PillowImage.fromarray(RGB), "TIFF"), "a.tif") == RGB).all()
    assert (
        decode_image(saved(PillowImage.fromarray(RGB), "WEBP", lossless=True), "a.webp") == RGB
    ).all()


@given(
    shape=st.tuples(st.integers(1, 20), st.integers(1, 20)), seed=st.integers(0, 99),
    kind=st.sampled_from(["rgb", "grey", "deep"]),
)  # fmt: skip
def test_what_we_encode_every_decoder_reads(shape, seed, kind):
    random = np.random.default_rng(seed)
    if kind == "deep":
        image = random.integers(0, 65536, shape, np.uint16)
    else:
        image = random.integers(0, 256, (*shape, 3) if kind == "rgb" else shape, np.uint8)
    data = encode_png(image)
    by_opencv = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    assert (by_opencv == (image[..., ::-1] if kind == "rgb" else image)).all()
    by_pillow = PillowImage.open(io.BytesIO(data))
    by_pillow.verify()
    assert (np.asarray(PillowImage.open(io.BytesIO(data))) == image).all()


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_it_does_not_matter_how_an_image_lies_in_memory(kind):
    image = np.arange(60, dtype=kind).reshape(3, 4, 5).transpose(1, 2, 0)
    assert encode_png(image) == encode_png(image.copy())


def test_grey_becomes_three_equal_channels():
    image = decode_image(saved(PillowImage.fromarray(RGB[..., 0])), "a.png")
    assert (image == RGB[..., :1]).all() and image.shape == RGB.shape


def test_sixteen_bit_grey_is_scaled_not_clipped():
    image = decode_image(encode_png(GREY16), "a.png")[..., 0]
    assert image.tolist() == [[0, 0, 0, 1], [1, 128, 255, 255]]


def test_palette_and_black_and_white_become_rgb():
    palette = PillowImage.fromarray(RGB).quantize(4)
    expected = np.asarray(palette.convert("RGB"))
    assert (decode_image(saved(palette), "a.png") == expected).all()
    bits = PillowImage.fromarray(RGB[..., 0] > 127)
    assert set(np.unique(decode_image(saved(bits), "a.png"))) == {0, 255}


def test_opaque_alpha_is_dropped_and_transparency_refused():
    rgba = np.dstack([RGB, np.full(RGB.shape[:2], 255, np.uint8)])
    assert (decode_image(saved(PillowImage.fromarray(rgba)), "a.png") == RGB).all()
    rgba[0, 0, 3] = 254
    with pytest.raises(BadInputError, match=r"a\.png: has transparent pixels"):
        decode_image(saved(PillowImage.fromarray(rgba)), "a.png")


def test_what_cannot_be_kept_whole_is_refused():
    cmyk = saved(PillowImage.fromarray(RGB).convert("CMYK"), "TIFF")
    with pytest.raises(BadInputError, match="CMYK"):
        decode_image(cmyk, "a.tif")
    colour16 = bytes(cv2.imencode(".png", RGB.astype(np.uint16) * 257)[1])
    with pytest.raises(BadInputError, match="16-bit colour"):
        decode_image(colour16, "a.png")


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


# A JPEG's last bytes carry no picture: there, sizes and hashes prove a file whole.
@pytest.mark.parametrize(
    ("kind", "cut"),
    [("png", cut) for cut in (0, 40, -12, -1, "half")] + [("jpg", cut) for cut in (0, 40, "half")],
)
def test_a_cut_file_is_refused_by_name(kind, cut):
    big = np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)
    data = saved(PillowImage.fromarray(big), {"png": "PNG", "jpg": "JPEG"}[kind])
    end = len(data) // 2 if cut == "half" else cut
    with pytest.raises(BadInputError, match=rf"^photo\.{kind}: "):
        decode_image(data[:end], f"photo.{kind}")


def test_names_that_lie_are_refused():
    with pytest.raises(BadInputError, match=r"x\.png: is not a PNG image"):
        decode_image(b"<html>not found</html>", "x.png")
    with pytest.raises(BadInputError, match=r"x\.png: is not a PNG image"):
        decode_image(saved(PillowImage.fromarray(RGB), "TIFF"), "x.png")
    with pytest.raises(BadInputError, match=r"'\.gif' is none of"):
        decode_image(saved(PillowImage.fromarray(RGB), "GIF"), "x.gif")


def test_a_flipped_byte_is_refused(tmp_path):
    data = bytearray(encode_png(RGB))
    path = tmp_path / "a.png"
    path.write_bytes(data)
    import hashlib

    stored = ImageFile(path, "a.png", len(data), hashlib.sha256(data).hexdigest())
    assert (stored() == RGB).all()
    data[30] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadInputError, match=r"a\.png: is not the file that was recorded"):
        stored()


def test_a_header_that_promises_too_many_pixels_is_refused_unread():
    side = 13_500
    assert side**2 > MAX_PIXELS
    body = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + body
    bomb = (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
        + b"\x00\x00\x00\x00IEND\xaeB`\x82"
    )  # fmt: skip
    with pytest.raises(BadInputError, match="pixels"):
        decode_image(bomb, "bomb.png")
