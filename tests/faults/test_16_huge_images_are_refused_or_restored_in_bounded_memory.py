"""Huge images are refused unread, or restored in tiles: as if whole, and in bounded memory."""

import copy
import struct
import subprocess
import sys

import numpy as np
import pytest
import torch

from idemnet import Restorer
from idemnet.datasets.images import MAX_PIXELS, PNG_START, png_chunk
from idemnet.datasets.photo import decode_photo
from idemnet.datasets.photographs import PHOTOGRAPHS
from idemnet.datasets.weights import write_weights
from idemnet.errors import BadInputError
from idemnet.models import MODELS
from idemnet.models.tiling import FADE, restore_in_tiles
from idemnet.recipes import TrainedModel

SIDE = 13_500
BOMB = """
import sys
from pathlib import Path
from idemnet.datasets.images import ImageFile
from idemnet.machine import peak_memory
path = Path(sys.argv[1])
before = peak_memory()
try:
    ImageFile(path, "bomb.png", path.stat().st_size, None)()
except ValueError as error:
    print(peak_memory() - before, error)
"""


def test_a_header_that_promises_too_many_pixels_is_refused_unread(tmp_path):
    assert SIDE**2 > MAX_PIXELS
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    path = tmp_path / "bomb.png"
    path.write_bytes(PNG_START + png_chunk(b"IHDR", head) + png_chunk(b"IEND", b""))
    command = [sys.executable, "-c", BOMB, str(path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    taken, message = said.split(" ", 1)
    assert int(taken) < 20_000_000
    assert message.startswith(f"{path}: ") and "pixels" in message
    with pytest.raises(BadInputError, match=r"bomb\.png: .*pixels"):
        decode_photo(path.read_bytes(), "bomb.png")


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


@pytest.mark.usefixtures("one_thread")
def test_tiles_are_the_whole_where_they_share_what_the_network_sees():
    """On both sides of the middle, where one tile gives way to the next."""
    torch.manual_seed(0)
    network = MODELS["idempotent"](width=2, iterations=1).eval()
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
from idemnet.datasets.photographs import PHOTOGRAPHS
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
    """Give resident memory and address space, without the picture itself and the restored one."""
    command = [sys.executable, "-c", PEAK, str(weights), str(side), str(limit)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [int(taken) - 2 * 3 * side**2 for taken in said.split()]


def test_memory_does_not_grow_with_the_image(tmp_path):
    arguments = {"width": 2, "iterations": 1, "downscale": 4}
    network = MODELS["idempotent"](**arguments, residual_scale=0.01)
    card = {"task": "deblur", "architecture": "idempotent", "arguments": arguments}
    write_weights(tmp_path / "weights", TrainedModel(network.state_dict(), card, []))
    resident, space = peak(tmp_path / "weights", 1024)
    limit = round(1.2 * space) + 2 * 3 * 4096**2
    larger, _ = peak(tmp_path / "weights", 4096, limit)
    assert 0.8 < larger / resident < 1.2
