"""Two processes against one: synthesis and evaluation, beside two decoders that share nothing.

Promise: at least 0.9 of the speed-up that two independent decoders get in the same run; more than
they get, a machine whose cores share memory and clock does not have. One core or two is what a
process is allowed, as `taskset` does it; the time to start a process is not counted, but for the
workers' of synthesis, which has sequences long enough for that to matter little.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from evaluation import evaluate, make_pairs
from promise import Promise, note, report
from synthesis import ours, read, render

from idemnet.data_parameters import SourceParameters
from idemnet.datasets.images import ImageFile
from idemnet.datasets.raw import RawDataset
from idemnet.datasets.sources import SourcesOnDisk
from idemnet.machine import TILES, keep_freed
from idemnet.recipes import Pair

ROUNDS, FRAMES, PAIRS = 2, 121, 20


def prepare(place: Path) -> None:
    """Render two sequences and play them back and forth; and pairs to score."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(partial(render, place / "frames", frames=FRAMES), range(2)))
    for path in list(place.glob("frames/train/*/*.png")):
        path.with_name(f"{2 * FRAMES - int(path.stem):06d}.png").hardlink_to(path)
    source = SourceParameters.model_validate(
        {"kind": "folder", "folder": {"path": str(place / "frames")}}
    )
    RawDataset(str(place / "raw"), {"raw": "set"}).save(SourcesOnDisk(place).folder(source))
    make_pairs(place / "pairs", PAIRS)


def decode(place: Path) -> float:
    begun = time.perf_counter()
    for path in sorted(place.glob("frames/train/scene_0/*.png"))[:FRAMES]:
        read(path)
    return time.perf_counter() - begun


def synthesise(place: Path) -> float:
    raw = RawDataset(str(place / "raw"), {"raw": "set"}).load()
    with tempfile.TemporaryDirectory(dir=place) as folder:
        return ours(raw, Path(folder, "pairs"))


def score(place: Path) -> float:
    pairs = []
    for number in range(PAIRS):
        names = [f"{kind}/{number}.png" for kind in ("blurred", "sharp")]
        paths = [place / "pairs" / name for name in names]
        files = [ImageFile(path, path.name, path.stat().st_size, None) for path in paths]
        pairs.append(Pair("test", "s", str(number), 11, 720, 1280, *files))
    keep_freed(TILES)  # as workers do
    evaluate(tuple(pairs[:1]), 1)  # libraries load
    begun = time.perf_counter()
    evaluate(tuple(pairs), 1)
    return time.perf_counter() - begun


WORKS = {"decode": decode, "synthesise": synthesise, "score": score}


def run_on(cores: int, work: str, place: Path, first: int = 0) -> float:
    """Give the seconds of some work in a process that may use so many cores."""
    allowed = sorted(os.sched_getaffinity(0))[first : first + cores]
    command = [sys.executable, __file__, work, str(place)]
    output = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, allowed),
    )
    return float(output.stdout)


def speed_up_of_decoders(place: Path) -> float:
    """Two that decode the same files, each on its core, against one alone."""
    alone = run_on(1, "decode", place)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda core: run_on(1, "decode", place, core), range(2)))
    return 2 * alone / max(both)


def main() -> None:
    synthesis, evaluation = [], []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        prepare(place)
        for _ in range(ROUNDS):
            bar = speed_up_of_decoders(place)
            ups = [
                run_on(1, work, place) / run_on(2, work, place) for work in ("synthesise", "score")
            ]
            note("decoders {:.2f}x, synthesis {:.2f}x, evaluation {:.2f}x".format(bar, *ups))
            synthesis.append(ups[0] / bar)
            evaluation.append(ups[1] / bar)
    what = "speed-up by a second core, as part of what two independent decoders get: "
    report(
        Promise(f"{what}synthesis", synthesis, at_least=0.9),
        Promise("… evaluation", evaluation, at_least=0.9),
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        print(WORKS[sys.argv[1]](Path(sys.argv[2])))
    else:
        main()
