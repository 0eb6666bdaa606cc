"""Two processes against one: synthesis and evaluation, beside two decoders that share nothing.

Promise: at least 0.9 of the speed-up that two independent decoders get in the same run; more than
they get, a machine whose cores share memory and clock does not have. Processes that may use the one
core, the other, and both, as `taskset` does it, take turns; workers that synthesis starts anew each
time are counted.
"""

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from evaluation import evaluate, make_pairs
from promise import Promise, note, report, timed
from synthesis import make_sequences, ours, read
from worker import Worker, serve

from idemnet.datasets.raw import RawDataset
from idemnet.media.image_files import ImageFile
from idemnet.parameters.source import SourceParameters
from idemnet.pipelines.download import download
from idemnet.steps.data import Pair

ROUNDS, FRAMES, PAIRS = 4, 99, 4


def prepare(place: Path) -> None:
    """Make two sequences, and pairs to score."""
    frames = make_sequences(place, FRAMES)
    source = SourceParameters.model_validate({"kind": "folder", "folder": {"path": str(frames)}})
    RawDataset(str(place / "raw" / "set")).save(download(source))
    make_pairs(place / "pairs", PAIRS)


def decode(place: Path) -> None:
    for path in sorted(place.glob("frames/train/scene_0/*.png"))[: FRAMES // 2]:
        read(path)


def synthesise(place: Path) -> None:
    raw = RawDataset(str(place / "raw" / "set")).load()
    with tempfile.TemporaryDirectory(dir=place) as folder:
        ours(raw, Path(folder, "pairs"))


def score(place: Path) -> None:
    pairs = []
    for number in range(PAIRS):
        names = [f"{kind}/{number}.png" for kind in ("blurred", "sharp")]
        paths = [place / "pairs" / name for name in names]
        files = [ImageFile(path, path.name, path.stat().st_size, None) for path in paths]
        pairs.append(Pair("test", "s", str(number), 11, 720, 1280, *files))
    evaluate(tuple(pairs), PAIRS)


WORKS = {"decode": decode, "synthesise": synthesise, "score": score}


def answer(place: Path) -> None:
    """Answer the name of a work with the seconds that it took."""
    score(place)  # load libraries
    serve(lambda word: timed(partial(WORKS[word], place)))


def main() -> None:
    synthesis, evaluation = [], []
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        one, other = sorted(os.sched_getaffinity(0))[:2]
        allowed = {one}, {other}, {one, other}
        first, second, both = (Worker(__file__, folder, cores=cores) for cores in allowed)
        for worker in (first, second, both):
            worker("decode")  # when it answers, it has loaded everything
        for _ in range(ROUNDS):
            alone = float(first("decode"))
            with ThreadPoolExecutor(2) as pool:
                beside = pool.map(lambda worker: float(worker("decode")), (first, second))
                bar = 2 * alone / max(beside)
            ups = [float(first(work)) / float(both(work)) for work in ("synthesise", "score")]
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
        answer(Path(sys.argv[1]))
    else:
        main()
