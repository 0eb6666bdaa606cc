"""Image files: supported formats, decoding and encoding.

| file | becomes |
|---|---|
| 8-bit RGB | itself |
| grey, black and white, palette | RGB, grey as three equal channels |
| 16-bit grey | divided by 257 and rounded: 65535 becomes 255 |
| fully opaque alpha | alpha dropped |
| other alpha, CMYK, 16-bit colour, 32 bits, float | rejected: nothing is lost silently |
| EXIF orientation | applied |
"""

import builtins
import hashlib
import io
import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray
from PIL import ExifTags, ImageOps, UnidentifiedImageError
from PIL import Image as PillowImage

from idemnet.errors import BadInputError
from idemnet.imaging.image import Depth, Image, StoredImage
from idemnet.storage.atomic import path_inside, write_atomic

FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".webp": "WEBP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
    ".bmp": "BMP",
}
"""Formats of data sets, by suffix; nothing else is decoded."""
PHOTO_FORMATS = FORMATS | {
    ".heic": "HEIF",
    ".heif": "HEIF",
    ".hif": "HEIF",
    ".avif": "AVIF",
    ".gif": "GIF",
}
"""Formats of pictures to restore, including those that data sets may not contain."""
MAX_PIXELS = 128_000_000
PNG_START = b"\x89PNG\r\n\x1a\n"
PNG_UP = 2
PNG_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}
"""PNG colour type by number of channels."""
PNG_END = b"IEND\xaeB`\x82"
PNG_SIXTEEN_BITS_LOST = {(16, 2), (16, 4), (16, 6)}
JPEG_END = b"\xff\xd9"
TIFF_BITS, TIFF_PHOTOMETRIC, TIFF_WHITE_IS_ZERO = 258, 262, 0
"""Tags of a TIFF file, and a value of the second."""
TIFF_TILE, TIFF_TILE_PIXELS = (322, 323), 1024 * 1024
"""Tags of a tile's sides, and the largest tile in a picture smaller than a tile."""


def is_image(path: Path) -> bool:
    """Return whether a file name has an image suffix and is not hidden."""
    return path.suffix.lower() in FORMATS and not path.name.startswith(".")


@contextmanager
def reject_corrupt(name: str) -> Iterator[None]:
    """Turn any decoder exception into one clear error: the bytes are untrusted."""
    try:
        yield
    except (BadInputError, MemoryError):
        raise
    except Exception as error:
        raise BadInputError(f"{name}: is corrupt or truncated ({one_line(error)})") from error


def one_line(error: BaseException) -> str:
    """Return the message of a library's error as part of a sentence."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def open_image(file: BinaryIO, name: str, *, for_photo: bool = False) -> PillowImage.Image:
    """Read the header and reject what must not be decoded.

    Args:
        file: The image's bytes.
        name: Its file name; the suffix determines the format it must have.
        for_photo: Whether 16-bit colour and `PHOTO_FORMATS` are accepted.

    Raises:
        BadInputError: If it is rejected.
    """
    head = file.read(26)
    file.seek(0)
    suffix = Path(name).suffix.lower()
    formats = PHOTO_FORMATS if for_photo else FORMATS
    if suffix not in formats:
        known = ", ".join(sorted(formats))
        raise BadInputError(f"{name}: unsupported format '{suffix}', must be one of {known}")
    if formats[suffix] == "HEIF":
        register_heif()
    try:
        image = PillowImage.open(file, formats=[formats[suffix]])
    except UnidentifiedImageError:
        raise BadInputError(f"{name}: is not a {formats[suffix]} image") from None
    except Exception as error:  # any exception: the bytes are untrusted
        raise BadInputError(f"{name}: cannot be read ({one_line(error)})") from error
    if image.width * image.height > MAX_PIXELS:
        size = f"{image.width}x{image.height}"
        raise BadInputError(f"{name}: {size} pixels exceed the limit of {MAX_PIXELS:,}")
    tile = [_tiff_tag(image, tag) or 1 for tag in TIFF_TILE]
    largest = max(image.width * image.height, TIFF_TILE_PIXELS)
    if not all(isinstance(side, int) for side in tile) or math.prod(tile) > largest:
        raise BadInputError(f"{name}: is corrupt, its tiles are larger than the picture")
    if not for_photo and _has_deep_colour(image, head):
        raise BadInputError(f"{name}: 16-bit colour is not supported, convert it to 8 bits")
    if image.mode.startswith("I;16") and _tiff_tag(image, TIFF_PHOTOMETRIC) == TIFF_WHITE_IS_ZERO:
        raise BadInputError(f"{name}: 16-bit images with 0 as white are not supported")
    return image


@cache
def register_heif() -> None:
    """Make Pillow read and write HEIF; auxiliary images in a file are ignored."""
    from pillow_heif import register_heif_opener  # noqa: PLC0415

    register_heif_opener(thumbnails=False, depth_images=False, aux_images=False)


def _has_deep_colour(image: PillowImage.Image, head: bytes) -> bool:
    """Return whether Pillow would silently drop the lower eight bits."""
    if image.format == "PNG":
        return tuple(head[24:]) in PNG_SIXTEEN_BITS_LOST
    return len(image.getbands()) > 1 and max(_tiff_tag(image, TIFF_BITS) or (8,)) > 8


def _tiff_tag(image: PillowImage.Image, tag: int) -> Any:
    return getattr(image, "tag_v2", {}).get(tag)


def decode_image(data: bytes, name: str) -> Image:
    """Decode a file's bytes to an 8-bit RGB image.

    Raises:
        BadInputError: If the bytes are truncated, corrupt, or would lose information.
    """
    image = load_image(data, name)
    with reject_corrupt(name):
        return to_rgb(ImageOps.exif_transpose(image), name)


def load_image(data: bytes, name: str, *, for_photo: bool = False) -> PillowImage.Image:
    """Decode a file's bytes with Pillow, completely.

    Raises:
        BadInputError: If they are truncated, corrupt, or must not be decoded.
    """
    image = open_image(io.BytesIO(data), name, for_photo=for_photo)
    if _is_truncated(data, str(image.format)):
        raise BadInputError(f"{name}: is truncated, or has data after its end")
    with reject_corrupt(name):
        image.load()
    return image


def _is_truncated(data: bytes, kind: str) -> bool:
    """Return whether the end marker is missing: some formats decode without it."""
    match kind:
        case "PNG":
            return not data.endswith(PNG_END)
        case "JPEG":
            return JPEG_END not in data[_jpeg_scan(data) :]  # more may follow, as in motion photos
        case "BMP":
            return len(data) < int.from_bytes(data[2:6], "little")
    return False


def _jpeg_scan(data: bytes) -> int:
    """Return the start of the pixel data: thumbnails before it have their own end markers."""
    at = 2
    while data[at : at + 1] == b"\xff" and data[at + 1 : at + 2] != b"\xda":
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return at


def to_rgb(image: PillowImage.Image, name: str) -> Image:
    """Apply the table in this module's docstring."""
    one_colour = "transparency" in image.info  # a transparent colour, in a picture without alpha
    if image.mode == "RGB" and not one_colour:
        return np.asarray(image)
    if image.mode in ("I;16", "I;16B", "I;16L") and not one_colour:
        grey = (np.asarray(image).astype(np.int64) + 128) // 257
        return np.repeat(grey.astype(np.uint8)[:, :, None], 3, axis=2)
    if image.mode in ("1", "L", "P", "LA", "PA", "RGB", "RGBA"):
        rgba = np.asarray(image.convert("RGBA"))
        if rgba[:, :, 3].min() < 255:
            raise BadInputError(f"{name}: has transparent pixels, which would be lost")
        return np.ascontiguousarray(rgba[:, :, :3])
    raise BadInputError(f"{name}: colour mode {image.mode} is not supported, convert it to RGB")


def decode_depth(data: bytes, name: str) -> Depth:
    """Decode a grey image to depth from 0 (black) to 1 (white).

    Raises:
        BadInputError: If the bytes are truncated or corrupt, or the image has colours.
    """
    image = load_image(data, name)
    with reject_corrupt(name):
        grey = np.asarray(image)
    white = {"L": 255, "I;16": 65535, "I;16B": 65535}.get(image.mode)
    if white is None:
        raise BadInputError(f"{name}: a depth map must be grey, of 8 or 16 bits, not {image.mode}")
    return grey.astype(np.float32) / np.float32(white)


def encode_png(image: NDArray[np.uint8] | NDArray[np.uint16], chunks: bytes = b"") -> bytes:
    """Losslessly encode an image of 8 or 16 bits, grey or RGB, with or without transparency.

    `chunks` are further chunks, for metadata.

    The time goes into deflate, and ISA-L's takes a third of the time of libpng's best settings, for
    files of the same size.
    """
    height, width = image.shape[:2]
    big_endian = np.ascontiguousarray(image, image.dtype.newbyteorder(">"))
    rows = big_endian.view(np.uint8).reshape(height, -1)
    filtered = np.empty((height, 1 + rows.shape[1]), np.uint8)
    filtered[:, 0] = PNG_UP  # filter 2: difference to the row above
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    colour = PNG_COLOURS[image.shape[2] if image.ndim == 3 else 1]
    head = struct.pack(">IIBBBBB", width, height, 8 * image.itemsize, colour, 0, 0, 0)
    body = isal_zlib.compress(filtered, level=1)
    parts = (PNG_START, png_chunk(b"IHDR", head), chunks, png_chunk(b"IDAT", body))
    return b"".join((*parts, png_chunk(b"IEND", b"")))


def png_chunk(kind: bytes, body: bytes) -> bytes:
    """Return a PNG chunk with length and checksum."""
    return b"".join(
        (struct.pack(">I", len(body)), kind, body, struct.pack(">I", zlib.crc32(kind + body)))
    )


def write_image(folder: Path, name: str, content: Any) -> tuple[int, str]:
    """Write an image as PNG, or raw bytes as they are."""
    chunks = [encode_png(content)] if isinstance(content, np.ndarray) else content
    return write_atomic(path_inside(folder, name), chunks)


@dataclass(frozen=True)
class ImageFile:
    """An image file, verified against its manifest when read."""

    path: Path
    name: str
    bytes: int
    sha256: str | None
    """`None` for files used in place, which are not hashed."""

    def __call__(self) -> Image:
        return decode_image(self.read(), str(self.path))

    def read(self) -> "builtins.bytes":
        """Read the file and verify its sha256."""
        data = self.path.read_bytes()
        intact = len(data) == self.bytes
        if intact and self.sha256 is not None:
            intact = hashlib.sha256(data).hexdigest() == self.sha256
        if not intact:
            raise BadInputError(f"{self.path}: has changed since it was recorded")
        return data

    def size(self) -> tuple[int, int]:
        with self.path.open("rb") as file:
            image = open_image(file, str(self.path))
            with reject_corrupt(str(self.path)):
                turned = image.getexif().get(ExifTags.Base.Orientation, 1) >= 5
        return (image.width, image.height) if turned else (image.height, image.width)


@dataclass(frozen=True)
class DepthFile:
    """A depth map file, of 8 or 16 bits."""

    file: ImageFile

    def __call__(self) -> Depth:
        return decode_depth(self.file.read(), str(self.file.path))


@dataclass(frozen=True)
class CroppedImage:
    """An image whose border is cropped when it is read."""

    image: StoredImage
    border: int
    """Pixels on each side."""

    @property
    def name(self) -> str:
        return self.image.name

    def __call__(self) -> Image:
        border = self.border
        return self.image()[border:-border, border:-border]

    def size(self) -> tuple[int, int]:
        height, width = self.image.size()
        return height - 2 * self.border, width - 2 * self.border
