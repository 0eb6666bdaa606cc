"""Write pictures with their original depth, transparency, metadata and colour profile."""

import io
import zlib
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image as PillowImage

from idemnet.errors import BadInputError
from idemnet.media.image_files import (
    PHOTO_FORMATS,
    encode_png,
    png_chunk,
    register_heif,
)
from idemnet.media.photo import Metadata, Photo

DEEP = {"PNG", "TIFF"}
"""Formats that can hold 16 bits."""

OPAQUE = {"JPEG", "BMP"}
"""Formats without transparency."""

WITHOUT_DPI = {"WEBP", "AVIF", "HEIF"}

LAYOUT_TAGS = {
    254, 255, 256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 282, 283, 284, 296, 317, 320, 322,
    323, 324, 325, 338, 339, 34675,
}  # fmt: skip
"""TIFF tags of sizes, strips, compression, resolution and profile, which are rewritten."""

RESULT_SUFFIXES = {".gif": ".png"}
"""Suffixes of formats that are read but not written: they have at most 256 colours."""

WRITTEN_FORMATS = {
    suffix: kind for suffix, kind in PHOTO_FORMATS.items() if suffix not in RESULT_SUFFIXES
}

OPTIONS: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 95, "subsampling": 0},
    "WEBP": {"quality": 95},
    "AVIF": {"quality": 95, "subsampling": "4:4:4", "speed": 8},  # a quarter of the default's time
    "HEIF": {"quality": 95, "enc_params": {"preset": "ultrafast"}},  # a fifth, as good
    "TIFF": {"compression": "tiff_lzw"},
}
"""Quality for lossy formats, high so that restored detail is kept."""


def result_name(path: Path) -> str:
    """Return the name of a picture's result, with the suffix of a writable format.

    a.gif becomes a.png, or a.gif.png if there is an a.png next to it.
    """
    suffix = RESULT_SUFFIXES.get(path.suffix.lower())
    if suffix is None:
        return path.name
    taken = path.with_suffix(suffix).exists()
    return f"{path.name}{suffix}" if taken else f"{path.stem}{suffix}"


def to_pillow(photo: Photo) -> PillowImage.Image:
    """Convert a picture to an 8-bit Pillow image, with its metadata in `info`."""
    image = PillowImage.fromarray(_values(photo, deep=False, transparent=True))
    metadata = photo.metadata
    found = {"exif": metadata.exif, "icc_profile": metadata.icc, "dpi": metadata.dpi}
    image.info.update({name: value for name, value in found.items() if value})
    return image


def encode_photo(photo: Photo, suffix: str) -> bytes:
    """Encode a picture in the format of a suffix.

    Depth and transparency are kept if the format supports them: 16 bits become 8 except in PNG and
    TIFF, and transparent pixels are blended onto white in JPEG and BMP.

    Raises:
        BadInputError: If the format is not supported.
    """
    if suffix.lower() not in WRITTEN_FORMATS:
        raise BadInputError(
            f"unsupported format '{suffix}', must be one of {', '.join(sorted(WRITTEN_FORMATS))}"
        )
    kind = WRITTEN_FORMATS[suffix.lower()]
    values = _values(photo, deep=kind in DEEP, transparent=kind not in OPAQUE)
    if kind == "PNG":
        return _encode_png(values, photo.metadata)
    if kind == "TIFF" and values.dtype == np.uint16:
        return _encode_tiff(values, photo)
    options = deepcopy(OPTIONS.get(kind, {}))  # pillow-heif modifies its input
    if kind == "HEIF":
        register_heif()
        if photo.metadata.nclx and not photo.metadata.icc:
            options["nclx_profile"] = photo.metadata.nclx
    if kind != "BMP":
        found = {"exif": photo.metadata.exif, "icc_profile": photo.metadata.icc}
        options |= {name: value for name, value in found.items() if value}
    if photo.metadata.dpi and kind not in WITHOUT_DPI:
        options["dpi"] = photo.metadata.dpi
    content = io.BytesIO()
    PillowImage.fromarray(values).save(content, kind, **options)
    return content.getvalue()


def _values(photo: Photo, *, deep: bool, transparent: bool) -> NDArray[Any]:
    """Combine the channels that the format supports."""
    colours, alpha = photo.pixels, photo.alpha
    if photo.grey:  # grey is restored as three nearly equal channels
        colours = np.rint(colours.mean(axis=2, keepdims=True, dtype=np.float32))
        colours = colours.astype(photo.pixels.dtype)
    if not deep:
        colours, alpha = to_eight_bits(colours), None if alpha is None else to_eight_bits(alpha)
    if alpha is not None and not transparent:
        cover = np.divide(alpha, 255, dtype=np.float32)[:, :, np.newaxis]
        colours, alpha = np.rint(255 + (colours - 255.0) * cover).astype(np.uint8), None
    values = colours if alpha is None else np.dstack([colours, alpha])
    return values[:, :, 0] if values.shape[2] == 1 else values


def to_eight_bits(values: NDArray[Any]) -> NDArray[Any]:
    """Round to 8 bits."""
    if values.dtype == np.uint8:
        return values
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)


def _encode_png(values: NDArray[Any], metadata: Metadata) -> bytes:
    chunks = b""
    if metadata.icc:
        chunks += png_chunk(b"iCCP", b"icc\0\0" + zlib.compress(metadata.icc))
    if metadata.dpi:
        per_metre = [round(float(one) / 0.0254) for one in metadata.dpi]
        chunks += png_chunk(b"pHYs", b"".join(one.to_bytes(4, "big") for one in per_metre) + b"\1")
    if metadata.exif:
        chunks += png_chunk(b"eXIf", metadata.exif.removeprefix(b"Exif\0\0"))
    return encode_png(values, chunks)


def _encode_tiff(values: NDArray[Any], photo: Photo) -> bytes:
    content = io.BytesIO()
    grey = photo.grey
    tifffile.imwrite(
        content,
        values,
        photometric="minisblack" if grey else "rgb",
        extrasamples=["unassalpha"] if photo.alpha is not None else None,
        iccprofile=photo.metadata.icc,
        resolution=photo.metadata.dpi,
        resolutionunit="INCH" if photo.metadata.dpi else None,
        compression="zlib",
        metadata=None,
    )
    return content.getvalue()
