"""A picture comes back with its depth, transparency, metadata and colours, and upright."""

import io
import itertools
import re
import struct
from dataclasses import replace

import cv2
import numpy as np
import pytest
import tifffile
from PIL import ExifTags, ImageCms, ImageOps
from PIL import Image as PillowImage

from idemnet.errors import BadInputError
from idemnet.media.image_files import register_heif
from idemnet.media.read_photo import PhotoFile, decode_photo
from idemnet.media.write_photo import encode_photo, result_name

RNG = np.random.default_rng(0)
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
register_heif()  # as a decoder of our own would, for looking at what was written


def cmyk_profile() -> bytes:
    """Write a printer's profile in which paper is white, and every ink the same middle grey."""
    corners = itertools.product((0, 1), repeat=4)
    table = b"".join(bytes([128 if any(inks) else 255, 128, 128]) for inks in corners)  # Lab
    identity = b"".join(struct.pack(">i", 65536 * one) for one in (1, 0, 0, 0, 1, 0, 0, 0, 1))
    ramp = bytes(range(256))
    lut = b"mft1\0\0\0\0" + bytes([4, 3, 2, 0]) + identity + 4 * ramp + table + 3 * ramp
    white = b"XYZ \0\0\0\0" + struct.pack(">3i", 63190, 65536, 54061)
    tags, at, body = [], 128 + 4 + 2 * 12, b""
    for name, content in ((b"A2B0", lut), (b"wtpt", white)):
        tags.append(struct.pack(">4sII", name, at + len(body), len(content)))
        body += content + bytes(-len(content) % 4)
    directory = struct.pack(">I", len(tags)) + b"".join(tags)
    head = struct.pack(
        ">I4sI4s4s4s12x4s", at + len(body), b"test", 0x02400000, b"prtr", b"CMYK", b"Lab ", b"acsp"
    )
    light = bytes(28) + struct.pack(">3i", 63190, 65536, 54061)  # D50
    return (head + light).ljust(128, b"\0") + directory + body


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


def test_colours_one_after_the_other_are_rejected_not_mixed_up():
    content = io.BytesIO()
    array = RNG.integers(0, 65536, (3, 9, 13), np.uint16)
    tifffile.imwrite(content, array, photometric="rgb", planarconfig="separate")
    with pytest.raises(BadInputError, match="planar colour"):
        decode_photo(content.getvalue(), "a.tif")


KINDS = {
    ".jpg": "JPEG", ".png": "PNG", ".webp": "WEBP", ".tif": "TIFF", ".heic": "HEIF",
    ".avif": "AVIF",
}  # fmt: skip


@pytest.mark.parametrize("suffix", KINDS)
def test_metadata_and_profile_are_kept(suffix):
    exif = PillowImage.Exif()
    exif[ExifTags.Base.Artist] = "somebody"
    exif[ExifTags.Base.Orientation] = 6
    array = RNG.integers(0, 256, (9, 13, 3), np.uint8)
    options = {"exif": exif.tobytes(), "icc_profile": PROFILE}
    photo = decode_photo(saved(array, KINDS[suffix], **options), f"a{suffix}")
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


@pytest.mark.parametrize("suffix", [".heic", ".heif", ".HIF", ".avif"])
@pytest.mark.parametrize("channels", [3, 4])
def test_heic_and_avif_come_back_as_they_were(suffix, channels):
    row = np.linspace(20, 230, 40)
    array = np.stack([row + 5 * number for number in range(channels)], axis=-1)
    array = np.broadcast_to(array, (30, 40, channels)).astype(np.uint8)
    kind = "AVIF" if suffix == ".avif" else "HEIF"
    photo = decode_photo(saved(array, kind, quality=95), f"a{suffix}")
    back = pixels_of(encode_photo(photo, suffix))
    assert back.shape == array.shape
    assert np.abs(back.astype(int) - array).mean() < 2
    assert photo.losses == ()


def test_a_turned_heic_is_upright_and_not_turned_twice():
    exif = PillowImage.Exif()
    exif[ExifTags.Base.Orientation] = 6
    array = np.zeros((32, 64, 3), np.uint8)
    array[:, :32] = 250  # left, so on top when turned to the right
    photo = decode_photo(saved(array, "HEIF", quality=95, exif=exif.tobytes()), "a.heic")
    assert photo.pixels.shape == (64, 32, 3)
    assert photo.pixels[:30].mean() > 240 and photo.pixels[34:].mean() < 15


def test_colours_of_a_heic_without_profile_keep_their_meaning():
    wide = {"color_primaries": 12, "transfer_characteristics": 13, "matrix_coefficients": 6,
            "full_range_flag": 1}  # fmt: skip
    array = np.full((32, 32, 3), (200, 60, 40), np.uint8)
    photo = decode_photo(saved(array, "HEIF", quality=95, nclx_profile=wide), "a.heic")
    back = PillowImage.open(io.BytesIO(encode_photo(photo, ".heic")))
    assert back.info["nclx_profile"]["color_primaries"] == 12
    assert np.abs(np.asarray(back).astype(int) - array).max() < 5


def test_more_than_eight_bits_of_heic_and_avif_are_lost_and_said():
    import pillow_heif

    deep = RNG.integers(0, 65536, (32, 32, 3), np.uint16)
    content = io.BytesIO()
    pillow_heif.from_bytes("RGB;16", (32, 32), deep.tobytes()).save(content)
    assert decode_photo(content.getvalue(), "a.heic").losses == ("10 bits become 8",)
    avif = bytearray(saved(deep.astype(np.uint8), "AVIF"))
    assert decode_photo(bytes(avif), "a.avif").losses == ()


@pytest.mark.parametrize("frames", [1, 3])
def test_of_a_gif_the_first_frame_becomes_a_png(frames, tmp_path):
    pictures = [PillowImage.new("P", (9, 7), number) for number in range(frames)]
    for one in pictures:
        one.putpalette([10, 20, 30, 200, 0, 0, 0, 200, 0])
    path = tmp_path / "a.gif"
    pictures[0].save(path, save_all=True, append_images=pictures[1:])
    photo = PhotoFile(path)()
    assert (photo.pixels == (10, 20, 30)).all() and photo.pixels.shape == (7, 9, 3)
    assert photo.losses == (("the first of 3 frames is restored",) if frames == 3 else ())
    assert result_name(path) == "a.png"
    assert (pixels_of(encode_photo(photo, ".png")) == (10, 20, 30)).all()
    (tmp_path / "a.png").touch()
    assert result_name(path) == "a.gif.png"


def test_a_transparent_gif_stays_transparent():
    picture = PillowImage.new("P", (4, 4), 1)
    picture.putpixel((2, 2), 0)
    picture.putpalette([0, 0, 0, 200, 100, 50])
    content = io.BytesIO()
    picture.save(content, "GIF", transparency=0)
    alpha = decode_photo(content.getvalue(), "a.gif").alpha
    assert alpha[2, 2] == 0 and alpha.sum() == 15 * 255


@pytest.mark.parametrize(("suffix", "kind"), [(".jpg", "JPEG"), (".tif", "TIFF")])
def test_cmyk_becomes_rgb_by_its_profile_or_as_pillow_converts_it(suffix, kind):
    """Full cyan; by this profile, a middle grey."""
    inks = PillowImage.new("CMYK", (16, 16), (255, 0, 0, 0))
    found = {}
    for name, icc in (("none", None), ("broken", b"no profile"), ("of its own", cmyk_profile())):
        content = io.BytesIO()
        inks.save(content, kind, **({"icc_profile": icc} if icc else {}))
        photo = decode_photo(content.getvalue(), f"a{suffix}")
        assert photo.losses == ("CMYK becomes RGB",)
        back = PillowImage.open(io.BytesIO(encode_photo(photo, suffix)))
        assert back.mode == "RGB"
        assert "icc_profile" not in back.info  # the old one is for four inks
        found[name] = np.asarray(back)[8, 8].astype(int)
    assert np.abs(found["none"] - (0, 255, 255)).max() < 10
    assert (found["broken"] == found["none"]).all()
    assert np.ptp(found["of its own"]) < 6 and 90 < found["of its own"][0] < 150


def test_of_a_jpeg_with_several_pictures_the_first_is_meant():
    """As phones write them, with a smaller one or a map of depth behind the photograph."""
    first, second = (PillowImage.new("RGB", (16, 16), colour) for colour in ("red", "blue"))
    content = io.BytesIO()
    first.save(content, "MPO", save_all=True, append_images=[second])
    photo = decode_photo(content.getvalue(), "a.jpg")
    assert photo.losses == ("the first of 2 pictures is restored",)
    assert photo.pixels[8, 8, 0] > 240 and photo.pixels[8, 8, 2] < 15


def test_what_cannot_be_given_back_is_rejected():
    pages = io.BytesIO()
    one = PillowImage.new("RGB", (4, 4))
    one.save(pages, "TIFF", save_all=True, append_images=[one])
    with pytest.raises(BadInputError, match="has 2 pages"):
        decode_photo(pages.getvalue(), "a.tif")
    whole = saved(RNG.integers(0, 256, (64, 64, 3), np.uint8), "PNG")
    with pytest.raises(BadInputError, match="truncated"):
        decode_photo(whole[:-100], "a.png")
    for suffix, kind in ((".heic", "HEIF"), (".avif", "AVIF"), (".gif", "GIF")):
        data = saved(RNG.integers(0, 256, (64, 64, 3), np.uint8), kind)
        for end in (0, 40, len(data) // 2, len(data) - 100):
            with pytest.raises(BadInputError, match=rf"^a\{suffix}: "):
                decode_photo(data[:end], f"a{suffix}")
    with pytest.raises(BadInputError, match="unsupported format"):
        encode_photo(decode_photo(whole, "a.png"), ".gif")


def test_a_picture_for_which_memory_is_too_short_is_rejected_by_its_header(tmp_path):
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
        said = rf"{name}: reading and writing 2000x1000 needs (\d+) MB of memory, but only 1 MB"
        needed[name] = int(re.search(said, str(refused.value))[1])
    assert needed["deep.png"] - needed["a.png"] == pytest.approx(9 * 2 * (8 - 3), abs=10)
    assert needed["deep.tif"] == pytest.approx(needed["deep.png"], abs=10)
    assert PhotoFile(tmp_path / "deep.png", memory=16_000_000_000)().pixels.dtype == np.uint16
