"""A step killed while making images or patches leaves nothing partial and repeats nothing done."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from kedro.io import DatasetError

from idemnet.datasets.pairs import PairsDataset
from idemnet.datasets.patches import PatchesDataset
from idemnet.media.image_files import write_image
from idemnet.parameters.crop import CropParameters
from idemnet.parameters.synthesize import BlurParameters
from idemnet.pipelines.crop import crop
from idemnet.steps.data import Pair, Pairs, RawData
from idemnet.steps.plan import Plan, Recipe
from idemnet.steps.publish import publish
from idemnet.storage.executor import Job
from idemnet.storage.manifest import read_manifest
from idemnet.tasks.deblur import synthesize_blur

from ..conftest import REPOSITORY
from ..steps.test_publish import recipe, tree


@dataclass(frozen=True)
class LazyImage:
    """An image that notes when it is decoded, or kills who decodes it."""

    name: str
    log: Path
    lethal: bool = False

    def __call__(self):
        if self.lethal:
            os.kill(os.getpid(), signal.SIGKILL)
        with self.log.open("a") as lines:
            lines.write(self.name + "\n")
        return np.random.default_rng(len(self.name)).integers(0, 256, (24, 20, 3), np.uint8)

    def size(self):
        return 24, 20


@dataclass(frozen=True)
class LazySequence:
    """Frames that are lazy images."""

    images: tuple[LazyImage, ...]
    split: str = "train"
    name: str = "ä #1"

    @property
    def frames(self):
        return [image.name for image in self.images]

    def size(self):
        return self.images[0].size()

    def read(self, start, stop):
        for image in self.images[start:stop]:
            yield image()


def decoded(log: Path) -> list[str]:
    names = log.read_text().split() if log.exists() else []
    log.unlink(missing_ok=True)
    return names


def written(folder: Path) -> dict[str, tuple[int, int]]:
    """Tell a file from one that was written again."""
    return {
        str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*.png")
    }


def test_killed_in_synthesis(tmp_path):
    log = tmp_path / "log"

    def blurred(lethal: int | None) -> Recipe:
        images = [LazyImage(f"{number:02d}", log, number == lethal) for number in range(30)]
        raw = RawData("raw", "frames", [LazySequence(tuple(images))], {}, None)
        return synthesize_blur(raw, BlurParameters(levels=(3, 5), stride=5))

    clean = PairsDataset(str(tmp_path / "clean/pairs" / "set"))
    clean.save(blurred(None))
    assert decoded(log) == [f"{number:02d}" for number in range(30)]
    pairs = PairsDataset(str(tmp_path / "pairs" / "set"))
    with pytest.raises(DatasetError, match="a worker process died"):
        pairs.save(blurred(17))
    assert not pairs.exists()
    [staged] = tmp_path.glob("pairs/.set.*/files")
    finished = written(staged)
    assert len(finished) == 9  # of three centres, a sharp and two blurred images
    decoded(log)
    pairs.save(blurred(None))
    assert tree(tmp_path / "pairs/set") == tree(tmp_path / "clean/pairs/set")
    assert finished.items() <= written(tmp_path / "pairs/set").items()
    assert decoded(log) == [f"{number:02d}" for number in range(15, 30)]


def test_killed_in_cropping(tmp_path):
    log = tmp_path / "log"

    def patches(lethal: int | None) -> Recipe:
        images = [
            (LazyImage(f"degraded{n}", log, n == lethal), LazyImage(f"clean{n}", log))
            for n in range(6)
        ]
        rows = [Pair("train", f"s{n}", "1", 5, 24, 20, *pair) for n, pair in enumerate(images)]
        cut = CropParameters(size=16, stride=4, min_contrast=0, validation_fraction=0)
        return crop(Pairs("pairs", rows, "set"), cut)

    clean = PatchesDataset(str(tmp_path / "clean/patches" / "set"))
    clean.save(patches(None))
    everything = decoded(log)
    assert sorted(everything) == sorted({*everything}) and len(everything) == 12
    dataset = PatchesDataset(str(tmp_path / "patches" / "set"))
    with pytest.raises(DatasetError, match="a worker process died"):
        dataset.save(patches(5))
    assert not dataset.exists()
    before = decoded(log)
    dataset.save(patches(None))
    assert tree(tmp_path / "patches/set") == tree(tmp_path / "clean/patches/set")
    # What a neighbour was at when it was ended with the one that died is made again, no other.
    again = Counter(before + decoded(log)) - Counter(everything)
    assert set(again) - {"clean5"} <= {
        f"{word}{n}" for n in range(5) for word in ("clean", "degraded")
    }
    assert sum(again.values()) <= 1 + 2


def test_what_is_finished_is_not_made_again(tmp_path):
    clean, log = tmp_path / "clean", tmp_path / "log"
    publish(clean / "set", recipe(tmp_path / "other log"), write_image)
    poison = "train/ä #1/007 x.png"
    with pytest.raises(RuntimeError, match="a worker process died"):
        publish(tmp_path / "set", recipe(log, poison=poison), write_image)
    assert not (tmp_path / "set").exists()
    publish(tmp_path / "set", recipe(log), write_image)
    assert tree(tmp_path / "set") == tree(clean / "set")
    made = log.read_text().splitlines()
    # An image that was being written when its neighbour died may be made again, no other.
    assert len(made) <= 12 + 1 and set(made) == set(
        (tmp_path / "other log").read_text().splitlines()
    )


def test_a_killed_parent_leaves_the_old_folder_and_takes_its_workers_along(tmp_path):
    publish(tmp_path / "set", recipe(tmp_path / "log", "e" * 64, count=4), write_image)
    before = tree(tmp_path / "set")
    script = f"""
import sys
sys.path.insert(0, {str(REPOSITORY)!r})
from pathlib import Path
from {__name__} import publish, write_image, stop_in_the_middle
if __name__ == "__main__":
    publish(Path({str(tmp_path / "set")!r}), stop_in_the_middle(), write_image)
"""
    (tmp_path / "main.py").write_text(script)
    process = subprocess.Popen([sys.executable, str(tmp_path / "main.py")], stdout=subprocess.PIPE)
    process.stdout.readline()
    process.kill()
    process.communicate(timeout=30)  # returns when the worker has exited
    assert tree(tmp_path / "set") == before


def hang(wanted):
    print("in the middle", flush=True)  # noqa: T201
    signal.pause()
    yield


def stop_in_the_middle() -> Recipe:
    return Recipe("d" * 64, lambda: Plan([Job(("a.png",), hang)]))


def test_a_torn_journal_line_is_not_believed(tmp_path):
    log, staging = tmp_path / "log", tmp_path / f".set.{'f' * 16}"
    with pytest.raises(RuntimeError):
        publish(tmp_path / "set", recipe(log, poison="train/ä #1/007 x.png"), write_image)
    journal = max(staging.glob("journals/*.jsonl"), key=lambda path: path.stat().st_size)
    text = journal.read_bytes()
    journal.write_bytes(text[:-5])
    publish(tmp_path / "set", recipe(log), write_image)
    assert len(read_manifest(tmp_path / "set").files) == 12


SLOW_LAYERS = [pytest.param(one, marks=pytest.mark.slow) for one in ("01_raw", "05_model_input")]


@pytest.mark.parametrize("layer", ["03_primary", *SLOW_LAYERS])
def test_the_same_command_ends_with_the_same_bytes(project, prepared, layer):
    run = project.start("kedro", "run", "--pipeline=prepare_deblur")
    parent = project.folder / "data" / layer / "deblur"
    while run.poll() is None and not any(parent.glob(".builtin.*/journals/*")):
        time.sleep(0.002)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    assert run.returncode == -signal.SIGKILL
    assert not (parent / "builtin").exists()
    project.run("kedro", "run", "--pipeline=prepare_deblur")
    assert project.bytes_below() == prepared.bytes_below()
