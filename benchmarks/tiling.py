"""Tiles: what they differ by from the whole image, and what they take of time and memory.

A network sees as far as an image that is cut off there would change its result. That is measured
for each network (idemnet.inference.receptive_field), and tiles share twice as much. Looked at are
the shipped weights and the paper's network with random ones. Random weights change pictures more
than trained ones do (stated below), and so what a cut changes, too: they are the harder case.

Promises: the largest difference between tiles and the whole image is at most 0.5 of 255; in tiles,
1280x720 takes at most 1.15x the time and a third of the memory, and at most 0.9 of that where freed
memory is returned to the system, as with `--memory`; 4000x6000 takes at most 1.5 GB.
"""

import sys
from functools import partial

import numpy as np
import torch
from memory import growth, peak, run
from numpy.typing import NDArray
from promise import Promise, note, report, take_turns
from torch import nn

from idemnet import Restorer
from idemnet.imaging.scenes import render_frames
from idemnet.inference.receptive_field import find_overlap
from idemnet.inference.restore import restore
from idemnet.inference.tiling import restore_in_tiles
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.models.idempotent import IdempotentNet
from idemnet.parameters.network import IdempotentParameters
from idemnet.parameters.restore import RestoreParameters
from idemnet.parameters.source import SceneParameters
from idemnet.system.resources import return_freed

ROUNDS, WHOLE = 5, 2048
KINDS = ("whole", "tiled", "returned")
TIMED, REMEMBERING = 1, 2
"""Iterations: six take six times as long, whole and in tiles alike, and from the second one on the
memory of the one before is held."""


def scene(height: int, width: int) -> torch.Tensor:
    parameters = SceneParameters(frames=15, height=height, width=width)
    photographs = [one for one in PHOTOGRAPHS if one.split == "test"]
    frames = list(render_frames(parameters, "test", 0, photographs))
    blurred = np.mean(np.stack(frames), axis=0, dtype=np.float32) / 255
    return torch.from_numpy(blurred).permute(2, 0, 1)[None]


def paper(iterations: int, residual_scale: float) -> nn.Module:
    torch.manual_seed(0)
    arguments = IdempotentParameters(iterations=iterations, residual_scale=residual_scale)
    model = IdempotentNet(arguments).eval()
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def differ(name: str, model: nn.Module, size: tuple[int, int], tile: int) -> Promise:
    image, overlap = scene(*size), find_overlap(model, "cpu")
    with torch.inference_mode():
        whole = model(image)
        tiled = restore_in_tiles(model, image, tile=tile, overlap=overlap)
    changed = 255 * float((whole - image).abs().mean())
    note(f"{name}: changes pixels by {changed:.2f} of 255 on average, tiles share {overlap}")
    what = f"tiles against the whole {size[1]}x{size[0]}, {name}: largest difference, of 255"
    return Promise(what, [255 * float((tiled - whole).abs().max())], at_most=0.5, unit="")


def picture() -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (720, 1280, 3), np.uint8)


def ways() -> tuple[RestoreParameters, RestoreParameters]:
    """Return how to restore whole and in tiles, which share what six iterations need."""
    overlap = find_overlap(paper(6, 0.01), "cpu")
    note(f"timed: tiles share {overlap}")
    return RestoreParameters(tile=WHOLE), RestoreParameters(tile_overlap=overlap)


def memory_of(kind: str, overlap: int) -> None:
    """Print the MB that restoring takes in this process."""
    if kind == "returned":
        return_freed()
    model = paper(REMEMBERING, 0.01)
    how = (
        RestoreParameters(tile=WHOLE)
        if kind == "whole"
        else RestoreParameters(tile_overlap=overlap)
    )
    restore(model, picture()[:64, :64], how, "cpu")  # load libraries
    print(growth(lambda: restore(model, picture(), how, "cpu")))


def main() -> None:
    differences = [
        differ("shipped weights", Restorer.load("deblur", device="cpu").model, (720, 1280), 512),
        differ("the paper's network with random weights", paper(6, 0.05), (384, 640), 256),
    ]
    model, how = paper(TIMED, 0.01), ways()
    note("whole, tiled:")
    times = take_turns(ROUNDS, *(partial(restore, model, picture(), one, "cpu") for one in how))
    overlap = str(how[1].tile_overlap)
    whole, tiled, returned = (float(run(__file__, kind, overlap)) for kind in KINDS)
    note(f"whole {whole:.0f} MB, tiled {tiled:.0f} MB, freed memory returned {returned:.0f} MB")
    report(
        *differences,
        Promise(
            "restoring 1280x720 in tiles, against the whole, the paper's layers: time",
            [in_tiles / at_once for at_once, in_tiles in times],
            at_most=1.15,
        ),
        Promise("… peak memory", [tiled / whole], at_most=1 / 3),
        Promise(
            "in tiles, freed memory returned to the system, against glibc's default: peak memory",
            [returned / tiled],
            at_most=0.9,
        ),
        Promise(
            "restoring 6000x4000 with the shipped weights: memory of the process",
            [peak(__file__, "4000", "6000")],
            at_most=1500,
            unit=" MB",
        ),
    )


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in KINDS:
        memory_of(sys.argv[1], int(sys.argv[2]))
    elif sys.argv[1:]:
        height, width = map(int, sys.argv[1:])
        Restorer.load("deblur", device="cpu")(np.zeros((height, width, 3), np.uint8))
    else:
        main()
