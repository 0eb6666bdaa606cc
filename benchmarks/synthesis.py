"""Six levels of blur from 720p frames: against the codec alone, and against level by level.

Promises: at most 1.5x the time of decoding each input once and encoding each output once with the
same codec on the same number of processes; at least 3x faster than averaging each level on its own
from files. Ours counts everything, from starting the processes to the published folder; the two it
is compared with count only the time in which their slower process works.
"""

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from promise import Promise, note, report

from idemnet.datasets.pairs import PairsDataset
from idemnet.datasets.raw import RawDataset
from idemnet.imaging.blur import find_centres
from idemnet.imaging.scenes import render_frames
from idemnet.media.image_files import decode_image, encode_png, write_image
from idemnet.media.photographs import PHOTOGRAPHS
from idemnet.parameters.source import SceneParameters, SourceParameters
from idemnet.parameters.synthesize import BlurParameters
from idemnet.pipelines.download import download
from idemnet.steps.data import RawData
from idemnet.tasks.deblur import synthesize_blur

SEQUENCES, FRAMES, RENDERED, ROUNDS = 2, 181, 46, 3


def make_sequences(place: Path, frames: int = FRAMES) -> Path:
    """Render frames and play them back and forth, as sequences that take equally long."""
    scene = SceneParameters(frames=RENDERED, height=720, width=1280)
    photographs = [one for one in PHOTOGRAPHS if one.split == "train"]
    paths = []
    for at, frame in enumerate(render_frames(scene, "train", 0, photographs)):
        write_image(place, f"rendered/{at}.png", frame)
        paths.append(place / f"rendered/{at}.png")
    back_and_forth = paths + paths[-2:0:-1]
    for number in range(SEQUENCES):
        folder = place / "frames" / "train" / f"scene_{number}"
        folder.mkdir(parents=True)
        for at in range(frames):
            (folder / f"{at:06d}.png").hardlink_to(back_and_forth[at % len(back_and_forth)])
    return place / "frames"


def read(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return decode_image(path.read_bytes(), path.name)


def codec_only(folder: Path, out: Path, number: int) -> float:
    """Decode each frame that is needed once, encode each image that is made once."""
    outputs = [read(path) for path in sorted(out.glob(f"train/scene_{number}/*/*.png"))]
    paths = sorted(folder.glob(f"train/scene_{number}/*.png"))
    begun = time.perf_counter()
    for path in paths[9:-11]:  # from the first window's start to the last window's end
        read(path)
    for at, image in enumerate(outputs):
        (out / f"{number}_{at}.png").write_bytes(encode_png(image))
    return time.perf_counter() - begun


def level_by_level(folder: Path, out: Path, number: int) -> float:
    """Average each level on its own, from its files; for every other centre, which is enough."""
    paths = sorted(folder.glob(f"train/scene_{number}/*.png"))
    centres = range(16, FRAMES - 7, 11)
    begun = time.perf_counter()
    for level in BlurParameters().levels:
        for centre in centres[::2]:
            total = np.zeros((720, 1280, 3))
            for path in paths[centre - level // 2 : centre + level // 2 + 1]:
                total += read(path)
            image = np.rint(total / level).astype(np.uint8)
            (out / f"{number}_{level}_{centre}.png").write_bytes(encode_png(image))
    return (time.perf_counter() - begun) * len(centres) / len(centres[::2])


def ours(raw: RawData, folder: Path) -> float:
    begun = time.perf_counter()
    PairsDataset(str(folder / "set")).save(synthesize_blur(raw, BlurParameters()))
    return time.perf_counter() - begun


def in_processes(work: Callable[[Path, Path, int], float], folder: Path, out: Path) -> float:
    with ProcessPoolExecutor(SEQUENCES, get_context("spawn")) as pool:
        jobs = [pool.submit(work, folder, out, number) for number in range(SEQUENCES)]
        return max(job.result() for job in jobs)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        frames = make_sequences(Path(place))
        source = SourceParameters.model_validate(
            {"kind": "folder", "folder": {"path": str(frames)}}
        )
        dataset = RawDataset(str(Path(place, "raw/set")))
        dataset.save(download(source))
        raw = dataset.load()
        centres, _ = find_centres(raw.sequences[0], BlurParameters())
        assert all(b.frame - a.frame == 11 for a, b in pairwise(centres))
        against_codec = []
        for round_ in range(ROUNDS):
            out = Path(place, f"out_{round_}")
            seconds = ours(raw, out)
            codec = in_processes(codec_only, frames, out / "set")
            against_codec.append(seconds / codec)
            note(f"ours {seconds:.1f} s, codec only {codec:.1f} s")
        levels = in_processes(level_by_level, frames, out / "set")
    report(
        Promise(
            "six levels of blur, against decoding every frame once and encoding every image once: "
            "time",
            against_codec,
            at_most=1.5,
        ),
        Promise(
            "… speed against averaging each level from its files", [levels / seconds], at_least=3
        ),
    )


if __name__ == "__main__":
    main()
