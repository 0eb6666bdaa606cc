"""Read pictures to restore, with what the result must keep.

| file | is restored as | and written as |
|---|---|---|
| 8 bits, colour or grey | itself | itself |
| 16 bits, colour or grey (PNG, TIFF) | itself, at full depth | itself, 16 bits |
| transparency | its colours; transparency stays as it is | itself |
| palette, black and white | colours | full colour |
| CMYK | RGB, by its colour profile if it has one | RGB (sRGB) |
| HEIC and AVIF | 8 bits, also where it has more | itself |
| GIF | its first frame | PNG |
| multi-picture JPEG | its first picture | itself |
| float, several pages | rejected | |

EXIF orientation is applied, and the tag then says so; all other metadata is kept. What is lost is
noted in `Photo.losses`.
"""

import io
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import cv2
import numpy as np
import psutil
from numpy.typing import NDArray
from PIL import ExifTags, ImageCms
from PIL import Image as PillowImage
from PIL.TiffImagePlugin import TiffImageFile

from idemnet.errors import BadInputError
from idemnet.media.image_files import (
    PNG_START,
    load_image,
    open_image,
    reject_corrupt,
)
from idemnet.media.photo import Metadata, Photo
from idemnet.media.write_photo import LAYOUT_TAGS

COPIES = 9
"""Peak memory while decoding, or encoding next to the input, as a multiple of the pixels' bytes;
measured with noise in every format: 3.4 to 8.3."""

MORE_COPIES = {"WEBP": 14, "AVIF": 19, "HEIF": 19}
"""The same for formats that take more; measured: 12.7, 17.6 and 17.2."""

PICTURE_CHUNKS = {b"tRNS", b"IDAT", b"IEND"}
"""Chunks kept of a 16-bit PNG, apart from its header."""

UPRIGHT = 1

BITS, PLANES, SAMPLE_FORMAT = 258, 284, 339
"""Tags of a TIFF file."""

FIRST_OF_MANY = {"GIF": "frames", "MPO": "pictures"}
"""Formats of which the first picture is used, and what the pictures are called."""

PLAIN_PRIMARIES, HDR_TRANSFERS = (1, 2), (16, 18)
"""Codes of ISO 23091-2: primaries of sRGB, or unspecified; PQ and HLG."""

TURNS: dict[int, tuple[int, bool]] = {
    2: (0, True), 3: (2, False), 4: (2, True), 5: (3, True), 6: (3, False), 7: (1, True),
    8: (1, False),
}  # fmt: skip
"""Quarter turns to the left, then a mirror, by EXIF orientation."""


@dataclass(frozen=True)
class PhotoFile:
    """A picture file; calling it decodes it with what the result must keep."""

    path: Path
    memory: int | None = None
    """Memory limit of the process while it is read and written, in bytes; None: no limit."""

    def __call__(self) -> Photo:
        if self.memory is not None:
            reject_too_large(self.path, self.memory)
        return decode_photo(self.path.read_bytes(), str(self.path))


def reject_too_large(path: Path, memory: int) -> None:
    """Reject a picture that needs too much memory, by its header.

    Raises:
        BadInputError: If it does.
    """
    with path.open("rb") as file:
        image = open_image(file, str(path), for_photo=True)
        deep = image.mode.startswith("I") or _sample_bits(image, file) > 8
        channels = 4 if image.has_transparency_data else 3
    size = image.width * image.height * channels * (2 if deep else 1)
    copies = MORE_COPIES.get(str(image.format), COPIES)
    needed = psutil.Process().memory_info().rss + copies * size
    if needed > memory:
        raise BadInputError(
            f"{path}: reading and writing {image.width}x{image.height} needs {needed / 1e6:.0f} MB "
            f"of memory, but only {memory / 1e6:.0f} MB are allowed"
        )


def _sample_bits(image: PillowImage.Image, file: BinaryIO) -> int:
    """Return the bits per sample from the file, since Pillow reports 16-bit colour as 8-bit."""
    if isinstance(image, TiffImageFile):
        return int(image.tag_v2.get(258, (1,))[0])
    if image.format == "PNG":
        file.seek(24)
        return file.read(1)[0]
    return 8


def decode_photo(data: bytes, name: str) -> Photo:
    """Decode a picture with what the result must keep.

    Raises:
        BadInputError: If it is truncated, corrupt, or of a kind that cannot be written back.
    """
    image = load_image(data, name, for_photo=True)
    with reject_corrupt(name):
        losses = _losses(image, data, name)
        exif = image.getexif()
        turn = exif.get(ExifTags.Base.Orientation, UPRIGHT)
        metadata = Metadata(
            exif=_upright(exif),
            icc=image.info.get("icc_profile"),
            dpi=image.info.get("dpi"),
            nclx=image.info.get("nclx_profile"),
        )
        values = _decode_deep(data, image, name)
        if values is None and image.mode == "CMYK":
            image = _from_cmyk(image, metadata.icc)
            metadata = replace(metadata, icc=None)
        if values is None:
            values = _decode_to_eight_bits(image, name)
        return replace(_photo(_turn(values, turn), metadata), losses=losses)


def _losses(image: PillowImage.Image, data: bytes, name: str) -> tuple[str, ...]:
    """Describe what the result cannot keep.

    Raises:
        BadInputError: If it has several pages.
    """
    losses = []
    pages = getattr(image, "n_frames", 1)
    if pages > 1:
        if image.format not in FIRST_OF_MANY:
            raise BadInputError(f"{name}: has {pages} pages, only single pictures are supported")
        losses.append(f"the first of {pages} {FIRST_OF_MANY[image.format]} is restored")
    if image.mode == "CMYK":
        losses.append("CMYK becomes RGB")
    if image.format in ("AVIF", "HEIF"):
        bits = image.info.get("bit_depth") or _av1_bits(data)
        if bits > 8:
            losses.append(f"{bits} bits become 8")
    if image.format == "AVIF" and "icc_profile" not in image.info and _has_other_colours(data):
        losses.append("its colour space (nclx) is not kept")
    return tuple(losses)


def _av1_bits(data: bytes) -> int:
    """Return the bit depth of an AVIF from its decoder configuration; Pillow does not report it."""
    at = data.find(b"av1C") + 6
    flags = data[at] if 6 <= at < len(data) else 0
    return (12 if flags & 0x20 else 10) if flags & 0x40 else 8


def _has_other_colours(data: bytes) -> bool:
    """Return whether an AVIF declares a colour space other than sRGB."""
    at = data.find(b"colrnclx")
    primaries, transfer = (int.from_bytes(data[at + n : at + n + 2], "big") for n in (8, 10))
    return at >= 0 and (primaries not in PLAIN_PRIMARIES or transfer in HDR_TRANSFERS)


def _from_cmyk(image: PillowImage.Image, icc: bytes | None) -> PillowImage.Image:
    """Convert to sRGB by the picture's profile, or Pillow's default without a usable one."""
    if icc:
        with suppress(ImageCms.PyCMSError, OSError):
            converted = ImageCms.profileToProfile(
                image,
                ImageCms.ImageCmsProfile(io.BytesIO(icc)),
                ImageCms.createProfile("sRGB"),
                renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
                outputMode="RGB",
                flags=ImageCms.Flags.BLACKPOINTCOMPENSATION,
            )
            assert converted is not None, "only conversion in place returns nothing"
            return converted
    return image.convert("RGB")


def _decode_to_eight_bits(image: PillowImage.Image, name: str) -> NDArray[Any]:
    if image.mode not in ("RGB", "RGBA", "L", "LA", "P", "PA", "1"):
        raise BadInputError(f"{name}: colour mode {image.mode} is not supported, convert it to RGB")
    if "transparency" in image.info or image.mode == "PA":
        image = image.convert("LA" if image.mode in ("1", "L") else "RGBA")
    elif image.mode == "P":
        image = image.convert("RGB")
    return np.asarray(image.convert("L") if image.mode == "1" else image)


def _decode_deep(data: bytes, image: PillowImage.Image, name: str) -> NDArray[Any] | None:
    """Decode 16-bit colour, which Pillow does not support; None for 8 bits.

    Uses OpenCV, which unpacks no more than the picture's size; tifffile could unpack gigabytes.
    """
    if not _is_deep(data, image):
        return None
    if isinstance(image, TiffImageFile) and image.tag_v2.get(PLANES, 1) != 1:
        raise BadInputError(f"{name}: planar colour is not supported")
    if "transparency" in image.info:
        raise BadInputError(f"{name}: a transparent colour is not supported in 16 bits")
    if image.mode == "CMYK":
        raise BadInputError(f"{name}: CMYK in 16 bits is not supported, convert it to RGB")
    plain = _without_extras(data, name) if image.format == "PNG" else data
    found = cv2.imdecode(np.frombuffer(plain, np.uint8), cv2.IMREAD_UNCHANGED)
    if found is None:
        raise BadInputError(f"{name}: is corrupt")
    deep = np.asarray(found)
    if deep.dtype != np.uint16 or deep.shape[:2] != (image.height, image.width):
        raise BadInputError(f"{name}: this 16-bit format is not supported")
    return deep[:, :, [2, 1, 0, 3][: deep.shape[2]]] if deep.ndim == 3 else deep


def _without_extras(data: bytes, name: str) -> bytes:
    """Strip a PNG to its picture data: OpenCV trusts the lengths in chunk headers."""
    parts, at = [PNG_START], len(PNG_START)
    while at < len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            raise BadInputError(f"{name}: is corrupt, a chunk claims to be larger than the file")
        kind = data[at + 4 : at + 8]
        if kind in PICTURE_CHUNKS or (kind == b"IHDR" and len(parts) == 1):
            parts.append(data[at:end])
        at = end
    return b"".join(parts)


def _is_deep(data: bytes, image: PillowImage.Image) -> bool:
    if isinstance(image, TiffImageFile):
        whole_numbers = set(image.tag_v2.get(SAMPLE_FORMAT, (1,))) == {1}
        return whole_numbers and set(image.tag_v2.get(BITS, ())) == {16}
    return image.format == "PNG" and data[24] == 16


def _photo(values: NDArray[Any], metadata: Metadata) -> Photo:
    values = values[:, :, np.newaxis] if values.ndim == 2 else values
    channels = values.shape[2]
    grey = channels < 3
    # a broadcast view: three channels take no more memory than one
    pixels = np.broadcast_to(values[:, :, :1], (*values.shape[:2], 3)) if grey else values[:, :, :3]
    alpha = values[:, :, -1].copy() if channels in (2, 4) else None
    return Photo(pixels, alpha, grey, metadata)


def _turn(values: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Rotate and mirror by the EXIF orientation."""
    quarters, mirrored = TURNS.get(orientation, (0, False))
    turned = np.rot90(values, quarters)
    return np.ascontiguousarray(turned[:, ::-1] if mirrored else turned)


def _upright(exif: PillowImage.Exif) -> bytes | None:
    """Keep the metadata, without the tags of a TIFF's layout."""
    for tag in LAYOUT_TAGS & exif.keys():
        del exif[tag]
    if not exif:
        return None
    if ExifTags.Base.Orientation in exif:
        exif[ExifTags.Base.Orientation] = UPRIGHT
    return exif.tobytes()
