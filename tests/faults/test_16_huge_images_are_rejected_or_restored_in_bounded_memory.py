"""Huge images are rejected by their header, or restored in tiles, seamlessly, in bounded memory."""

import copy
import io
import struct
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image as PillowImage

from idemnet import Restorer
from idemnet.errors import BadInputError
from idemnet.inference.tiling import FADE, restore_in_tiles
from idemnet.inference.weights import TrainedModel, write_weights
from idemnet.media.image_files import MAX_PIXELS, PNG_START, png_chunk, register_heif
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.media.read_photo import decode_photo
from idemnet.models import build_network

SIDE = 13_500
BOMB = """
import sys
from pathlib import Path
from idemnet.media.image_files import ImageFile, register_heif
from idemnet.media.read_photo import PhotoFile
from idemnet.system.resources import peak_memory
path = Path(sys.argv[1])
register_heif()
before = peak_memory()
try:
    read = PhotoFile(path)
    if path.suffix == ".png":
        read = ImageFile(path, "bomb.png", path.stat().st_size, None)
    read()
except ValueError as error:
    print(peak_memory() - before, error)
"""


def bomb(suffix: str, side: int) -> bytes:
    """Write a small picture whose header promises others sides."""
    if suffix == ".png":
        head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
        return PNG_START + png_chunk(b"IHDR", head) + png_chunk(b"IEND", b"")
    register_heif()
    content = io.BytesIO()
    kind = {".heic": "HEIF", ".avif": "AVIF", ".gif": "GIF"}[suffix]
    PillowImage.new("RGB", (64, 64)).save(content, kind)
    data = bytearray(content.getvalue())
    if suffix == ".gif":
        data[6:10] = struct.pack("<HH", side, side)
    else:
        at = data.index(b"ispe") + 8
        data[at : at + 8] = struct.pack(">II", side, side)
    return bytes(data)


@pytest.mark.parametrize("suffix", [".png", ".heic", ".avif", ".gif"])
def test_a_header_that_promises_too_many_pixels_is_rejected_unread(tmp_path, suffix):
    assert SIDE**2 > MAX_PIXELS
    path = tmp_path / f"bomb{suffix}"
    path.write_bytes(bomb(suffix, SIDE))
    command = [sys.executable, "-c", BOMB, str(path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    taken, message = said.split(" ", 1)
    assert int(taken) < 20_000_000
    assert message.startswith(f"{path}: ") and "pixels" in message
    with pytest.raises(BadInputError, match=rf"bomb\{suffix}: .*pixels"):
        decode_photo(path.read_bytes(), path.name)


def test_a_heic_that_holds_more_than_its_header_promises_is_rejected_unread(tmp_path):
    """64x64 by the header, 2048x2048 by the compressed picture."""
    register_heif()
    content = io.BytesIO()
    PillowImage.new("RGB", (2048, 2048)).save(content, "HEIF", enc_params={"preset": "ultrafast"})
    data = content.getvalue()
    at = data.index(b"ispe") + 8
    path = tmp_path / "bomb.heic"
    path.write_bytes(data[:at] + struct.pack(">II", 64, 64) + data[at + 8 :])
    command = [sys.executable, "-c", BOMB, str(path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    taken, message = said.split(" ", 1)
    assert int(taken) < 10_000_000  # its pixels alone are 12
    assert "exceeds" in message


def sees(network) -> int:
    """Count the pixels to the farthest one that a pixel of the result depends on."""
    network.double()
    for tensor in network.parameters():
        tensor.data.abs_().mul_(0.1)  # nothing cancels, is cut off or saturates
    image = torch.ones(1, 3, 320, 320, dtype=torch.float64, requires_grad=True)
    restored = network(image)
    farthest = 0
    for at in range(160, 164):  # networks halve images twice
        [gradient] = torch.autograd.grad(restored[..., at, at].sum(), image, retain_graph=True)
        rows = gradient.abs().sum(dim=(0, 1, 3)).nonzero()
        farthest = max(farthest, at - int(rows[0]), int(rows[-1]) - at)
    return farthest


def test_tiles_are_the_whole_where_they_share_what_the_network_sees():
    """On both sides of the middle, where one tile gives way to the next."""
    torch.manual_seed(0)
    network = build_network("idempotent", {"width": 2, "iterations": 1}).eval()
    overlap = 2 * sees(copy.deepcopy(network)) + FADE
    image = torch.rand(1, 3, 400, 900)
    with torch.inference_mode():
        whole = network(image)
        tiled = restore_in_tiles(network, image, tile=overlap + 128, overlap=overlap)
        short = restore_in_tiles(network, image, tile=overlap + 128, overlap=8)
    assert (tiled - whole).abs().max() < 1e-5
    assert (short - whole).abs().max() > 1e-4  # as it would be, had the overlap not been enough


def test_tiles_that_share_less_differ_by_less_than_can_be_seen():
    """With the weights that are shipped, which see farther than half of this overlap."""
    picture = PHOTOGRAPHS[0]()[:200, :300] / np.float32(255)
    whole = Restorer.load("deblur", device="cpu", tile=2048)(picture)
    tiled = Restorer.load("deblur", device="cpu", tile=128, tile_overlap=64)(picture)
    assert (tiled != whole).any()
    assert 10 * np.log10(1 / np.square(tiled - whole).mean()) > 50


PEAK = """
import resource, sys
import numpy as np
import torch
from idemnet import Restorer
from idemnet.media.photographs import PHOTOGRAPHS
torch.set_num_threads(1)
side, limit = int(sys.argv[2]), int(sys.argv[3])
restorer = Restorer.load(sys.argv[1], device="cpu")
photograph = PHOTOGRAPHS[0]()[:256, :256]
picture = np.empty((side, side, 3), np.uint8)
for top in range(0, side, 256):
    for left in range(0, side, 256):
        picture[top : top + 256, left : left + 256] = photograph
if limit:
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
assert restorer(picture).shape == picture.shape
said = dict(line.split(":") for line in open("/proc/self/status"))
print(*(int(said[key].split()[0]) * 1024 for key in ("VmHWM", "VmPeak")))
"""


def peak(weights, side: int, limit: int = 0) -> list[int]:
    """Return resident memory and address space, without the picture itself and the restored one."""
    command = [sys.executable, "-c", PEAK, str(weights), str(side), str(limit)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [int(taken) - 2 * 3 * side**2 for taken in said.split()]


def test_memory_does_not_grow_with_the_image(tmp_path):
    arguments = {"width": 2, "iterations": 1, "downscale": 4}
    network = build_network("idempotent", {**arguments, "residual_scale": 0.01})
    card = {"task": "deblur", "architecture": "idempotent", "arguments": arguments}
    write_weights(tmp_path / "weights", TrainedModel(network.state_dict(), card, []))
    resident, space = peak(tmp_path / "weights", 1024)
    limit = round(1.2 * space) + 2 * 3 * 4096**2
    larger, _ = peak(tmp_path / "weights", 4096, limit)
    assert 0.8 < larger / resident < 1.2
