"""Real files of every kind that is read, and what is asked of each reader when one is not right."""

import hashlib
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tifffile
import torch
from PIL import ExifTags
from PIL import Image as PillowImage

from idemnet.errors import BadInputError
from idemnet.fetch.archive import check_archive, read_members
from idemnet.inference.restorer import Restorer
from idemnet.inference.weights import TrainedModel, read_weights, write_weights
from idemnet.media.image_files import (
    DepthFile,
    ImageFile,
    decode_depth,
    decode_image,
    encode_png,
    png_chunk,
    register_heif,
)
from idemnet.media.read_photo import decode_photo
from idemnet.media.write_photo import encode_photo, result_name
from idemnet.models import build_network
from idemnet.tracking.checkpoints import Checkpoints

from ...media.test_photo import cmyk_profile

NAME = "f" * 64


@dataclass(frozen=True)
class Reader:
    """A kind of file."""

    files: dict[str, bytes]
    """Real ones, by name."""
    read: Callable[[Path, str, bytes], None]
    """Reads one that was changed, in a folder to work in, of this name; it may only refuse it."""


def pictures() -> dict[str, bytes]:
    register_heif()
    dice = np.random.default_rng(0)
    colours = dice.integers(0, 256, (20, 24, 4), np.uint8)
    deep = dice.integers(0, 65536, (20, 24, 3), np.uint16)
    exif = PillowImage.Exif()
    exif[ExifTags.Base.Artist], exif[ExifTags.Base.Orientation] = "somebody", 6
    note = png_chunk(b"eXIf", exif.tobytes().removeprefix(b"Exif\0\0"))
    files = {
        "a.png": encode_png(colours[:, :, :3], note),
        "b.png": encode_png(colours),
        "c.png": encode_png(deep[:, :, 0]),
        "d.png": encode_png(deep),
        "e.png": _saved(PillowImage.fromarray(colours).convert("P"), "PNG"),
        "a.jpg": _saved(PillowImage.fromarray(colours[:, :, :3]), "JPEG", exif=exif),
        "b.jpg": _saved(PillowImage.fromarray(colours[:, :, 0]), "JPEG", progressive=True),
        "a.webp": _saved(PillowImage.fromarray(colours), "WEBP", exif=exif),
        "b.webp": _saved(PillowImage.fromarray(colours), "WEBP", lossless=True),
        "a.bmp": _saved(PillowImage.fromarray(colours[:, :, :3]), "BMP"),
        "c.jpg": _saved(
            PillowImage.fromarray(colours[:, :, :3]).convert("CMYK"), "JPEG",
            icc_profile=cmyk_profile(),
        ),
        "a.gif": _saved(
            PillowImage.fromarray(colours[:, :, :3]), "GIF", save_all=True,
            append_images=[PillowImage.fromarray(colours[::-1, :, :3])],
        ),
        "a.avif": _saved(PillowImage.fromarray(colours), "AVIF", exif=exif.tobytes()),
        "a.heic": _saved(PillowImage.fromarray(colours), "HEIF", exif=exif.tobytes()),
        "b.heic": _saved(PillowImage.fromarray(colours[:, :, :3]), "HEIF", icc_profile=b"icc"),
    }  # fmt: skip
    for number, packing in enumerate(("raw", "tiff_lzw", "tiff_adobe_deflate", "jpeg", "packbits")):
        image = PillowImage.fromarray(colours[:, :, :3])
        files[f"{number}.tif"] = _saved(image, "TIFF", compression=packing, exif=exif)
    for number, options in enumerate(({}, {"compression": "zlib", "tile": (16, 16)})):
        content = io.BytesIO()
        tifffile.imwrite(content, deep, photometric="rgb", **options)
        files[f"deep{number}.tif"] = content.getvalue()
    return files


def _saved(image: PillowImage.Image, kind: str, **options) -> bytes:
    content = io.BytesIO()
    image.save(content, kind, **options)
    return content.getvalue()


def read_picture(folder: Path, name: str, data: bytes) -> None:
    """Every reader of pictures; what is accepted can be written again."""
    path = folder / name
    path.write_bytes(data)
    recorded = ImageFile(path, name, len(pictures_there[name]), sha256(pictures_there[name]))
    for vouched in (recorded, DepthFile(recorded)):
        must_refuse(vouched)
    for read in (
        lambda: decode_image(data, name),
        lambda: decode_depth(data, name),
        ImageFile(path, name, len(data), None).size,
        lambda: encode_photo(decode_photo(data, name), Path(result_name(path)).suffix),
    ):
        may_refuse(read)


def archives() -> dict[str, bytes]:
    files = {}
    for number, method in enumerate((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", method) as file:
            for name, member in MEMBERS.items():
                file.writestr(name, member)
        files[f"{number}.zip"] = content.getvalue()
    return files


MEMBERS = {f"train/scene_{n}/{n:06}.png": bytes([n] * 300) for n in range(4)}


def read_archive(folder: Path, name: str, data: bytes) -> None:
    path = folder / name
    path.write_bytes(data)

    def unpack() -> None:
        members = check_archive(path, limit_bytes=10**7)
        for member, chunks in read_members(path, members):
            content = b"".join(chunks)
            assert content in MEMBERS.values() or not content, f"{member} is another file"

    may_refuse(unpack)


def weights() -> dict[str, bytes]:
    model = build_network("idempotent", {"width": 1, "iterations": 1})
    card = {"task": "deblur", "architecture": "idempotent", "parameters": 1,
            "arguments": {"width": 1, "iterations": 1, "residual_scale": 1.0}}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        write_weights(Path(folder), TrainedModel(model.state_dict(), card, []))
        names = ("card.json", "weights.safetensors")
        return {name: Path(folder, name).read_bytes() for name in names}


def read_card(folder: Path, name: str, data: bytes) -> None:
    """With the card that was written for other bytes, and with one that vouches for these."""
    files = {**weights_there, name: data}
    for file, content in files.items():
        (folder / file).write_bytes(content)
    path = folder / "weights.safetensors"
    if name == path.name:
        must_refuse(lambda: read_weights(path))
        card = {**json.loads(files["card.json"]), "sha256": sha256(data)}
        (folder / "card.json").write_text(json.dumps(card))
    may_refuse(lambda: Restorer.load(folder, device="cpu"))


def checkpoints() -> dict[str, bytes]:
    model = build_network("idempotent", {"width": 1, "iterations": 1})
    optimiser = torch.optim.Adam(model.parameters())
    state = {"step": 3, "model": model.state_dict(), "optimiser": optimiser.state_dict(),
             "history": [{"epoch": 0, "sharp_1": 0.5}], "sums": {}, "best": {}}  # fmt: skip
    content, legacy = io.BytesIO(), io.BytesIO()
    torch.save(state, content)
    torch.save(state, legacy, _use_new_zipfile_serialization=False)
    return {"a": content.getvalue(), "b": legacy.getvalue()}


def read_checkpoint(folder: Path, name: str, data: bytes) -> None:
    """By the name of the file that it was, and by a name that vouches for what it is now."""
    place = folder / NAME[:16]
    for vouched, refuse in ((checkpoints_there[name], must_refuse), (data, may_refuse)):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        (place / f"000000003-{sha256(vouched)}.pt").write_bytes(data)
        refuse(lambda: Checkpoints(folder).load(NAME))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def may_refuse(read: Callable[[], object]) -> bool:
    try:
        read()
    except BadInputError as error:
        message = str(error)
        assert message and "\n" not in message and len(message) < 2000, message
        return True
    return False


def must_refuse(read: Callable[[], object]) -> None:
    assert may_refuse(read), "was accepted though it is not the file that was recorded"


pictures_there, weights_there, checkpoints_there = pictures(), weights(), checkpoints()

READERS = {
    "pictures": Reader(pictures_there, read_picture),
    "archives": Reader(archives(), read_archive),
    "weights": Reader(weights_there, read_card),
    "checkpoints": Reader(checkpoints_there, read_checkpoint),
}
