"""Restoring a folder of 50 pictures: reading and writing should not add to the network's time.

Promises: at most 1.05x the sum of decoding, network and encoding, each measured on its own in the
same run; with the network replaced by a wait of 100 ms, at most 1.1x the waits alone; and with ten
times as many pictures the peak memory of the command within 10%.
"""

import shutil
import sys
import tempfile
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from memory import peak
from numpy.typing import NDArray
from promise import Promise, note, report, take_turns

from idemnet import Restorer
from idemnet.imaging.scenes import render_frames
from idemnet.inference.restore_files import restore_files
from idemnet.inference.targets import RestoreTarget, plan_targets
from idemnet.inference.tiling import TileDone, ignore_tiles
from idemnet.media.image_files import write_image
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.media.read_photo import PhotoFile
from idemnet.media.write_photo import encode_photo
from idemnet.parameters.source import SceneParameters
from idemnet.storage.atomic import write_atomic

PICTURES, ROUNDS, WAIT = 50, 3, 0.1


class Waiting(Restorer):
    """Stands for a network on another device: only waits."""

    def restore_pixels(
        self, pixels: NDArray[Any], tile_done: TileDone = ignore_tiles
    ) -> NDArray[Any]:
        time.sleep(WAIT)
        return pixels


def make_pictures(folder: Path, count: int) -> None:
    """Return 1280x720 pictures; a few that differ, each as often as needed."""
    scene = SceneParameters(frames=min(count, 10), height=720, width=1280)
    photographs = [one for one in PHOTOGRAPHS if one.split == "test"]
    frames = [frame.astype(np.uint8) for frame in render_frames(scene, "test", 0, photographs)]
    for number in range(count):
        write_image(folder, f"{number:03}.png", frames[number % len(frames)])


def restore(restorer: Restorer, items: list[RestoreTarget]) -> float:
    shutil.rmtree(items[0].target.parent, ignore_errors=True)
    begun = time.perf_counter()
    failures = restore_files(items, restorer, lambda _: None, explained=False)
    seconds = time.perf_counter() - begun
    assert not failures
    assert all(item.target.exists() for item in items)
    return seconds


def restore_one_by_one(restorer: Restorer, items: list[RestoreTarget], place: Path) -> float:
    """Return the sum of what decoding, network and encoding take."""
    begun = time.perf_counter()
    for item in items:
        photo = PhotoFile(item.source)()
        restored = replace(photo, pixels=restorer.restore_pixels(photo.pixels))
        write_atomic(place / item.target.name, [encode_photo(restored, ".png")])
    return time.perf_counter() - begun


def wait_for_all() -> None:
    for _ in range(PICTURES):
        time.sleep(WAIT)


def measure(place: Path) -> tuple[list[float], list[float]]:
    make_pictures(place / "pictures", PICTURES)
    items = plan_targets([str(place / "pictures")], place / "restored").todo
    restorer = Restorer.load("deblur", device="cpu")
    waiting = Waiting(**{one.name: getattr(restorer, one.name) for one in fields(restorer)})
    restorer.restore_pixels(PhotoFile(items[0].source)().pixels)  # the overlap is measured
    against_sum = []
    half = PICTURES // 2
    for _ in range(ROUNDS):
        # Before and after: a minute in which the machine is slow is nobody's.
        apart = restore_one_by_one(restorer, items[:half], place)
        ours = restore(restorer, items)
        apart += restore_one_by_one(restorer, items[half:], place)
        note(f"folder {ours:.1f} s, one by one {apart:.1f} s")
        against_sum.append(ours / apart)
    rows = take_turns(2, lambda: restore(waiting, items), wait_for_all)
    return against_sum, [ours / waits for ours, waits in rows]


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        against_sum, against_waits = measure(Path(place))
        peaks = []
        for count in (5, 50):
            folder = Path(place, f"of_{count}")
            folder.mkdir()
            for number in range(count):
                shutil.copy(Path(place, "pictures", f"{number:03}.png"), folder)
            peaks.append(peak(__file__, str(folder)))
            note(f"{count} pictures: {peaks[-1]:.0f} MB")
    report(
        Promise(
            "restoring a folder of 50 pictures of 1280x720, against decoding, network and encoding "
            "one by one: time",
            against_sum,
            at_most=1.05,
        ),
        Promise(
            "… with the network replaced by a wait of 100 ms, against the waits: time",
            against_waits,
            at_most=1.1,
        ),
        Promise("… peak memory of 50 pictures, against 5", [peaks[1] / peaks[0]], at_most=1.1),
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        restore(
            Restorer.load("deblur", device="cpu"),
            plan_targets(sys.argv[1:], Path(f"{sys.argv[1]}_restored")).todo,
        )
    else:
        main()
