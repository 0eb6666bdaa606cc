"""Hundreds of pictures in a row take no more memory and open files than the first fifty."""

import itertools
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import psutil
import pytest
from PIL import Image as PillowImage

from ..app_client import AppClient, serve_app
from ..conftest import environment

FIRST, FEW, MANY = 50, 30, 500
GROWTH = 1.05
KINDS = (".png", ".jpg", ".webp", ".tif", ".bmp")
SIZES = np.random.default_rng(1).integers(8, 97, (12, 2))
"""As many as an album has. For each, torch keeps plans of its convolutions (oneDNN, 1024 at most):
with 500 different ones, memory would go on growing by a tenth until there are so many."""


def draw(folder: Path, count: int) -> list[Path]:
    """Draw every format, 8 to 96 pixels a side, some grey or transparent, and some cut off."""
    folder.mkdir()
    dice = np.random.default_rng(0)
    paths = []
    for number, suffix in zip(range(count), itertools.cycle(KINDS), strict=False):
        height, width = SIZES[number % len(SIZES)]
        channels = 4 if suffix == ".png" and number % 3 else 3
        values = dice.integers(0, 256, (height, width, channels), np.uint8)
        path = folder / f"{number:04}{suffix}"
        PillowImage.fromarray(values[:, :, 0] if number % 7 == 0 else values).save(path)
        if number % 25 == 24:
            path.write_bytes(path.read_bytes()[:60])
        paths.append(path)
    return paths


def watch_restore(folder: Path, count: int) -> Iterator[tuple[int, int, int]]:
    """Run `idemnet restore`; give pictures written, bytes of memory, open files, now and then."""
    draw(folder / "album", count)
    command = ["idemnet", "restore", "album", "-o", "out"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    seen = psutil.Process(process.pid)
    while process.poll() is None:
        written = len(list(folder.glob("out/[!.]*")))
        try:
            yield written, seen.memory_info().rss, seen.num_fds()
        except psutil.Error:
            break
        time.sleep(0.01)
    said = process.communicate()[1].decode()
    assert process.returncode == 1, said
    assert said.count("is corrupt") + said.count("truncated") + said.count("cannot be read") >= 1
    assert len(list(folder.glob("out/[!.]*"))) == count - count // 25


def watch_app(client: AppClient, pictures: list[Path]) -> Iterator[tuple[int, int, int]]:
    seen = psutil.Process(client.process.pid)
    for number, path in enumerate(pictures):
        file = client.upload(path.name, path.read_bytes())
        for element, event, more in (("upload", "change", []), ("restore", "click", ["deblur", 1])):
            assert client.call(element, event, file, *more)["success"]
        yield number, seen.memory_info().rss, seen.num_fds()


def see_that_it_stays_flat(samples: list[tuple[int, int, int]], count: int) -> str:
    early = [one for one in samples if FIRST <= one[0] < 2 * FIRST]
    late = [one for one in samples if one[0] >= count - FIRST - count // 25]
    before, after = (median(one[1] for one in part) for part in (early, late))
    assert after <= GROWTH * before, f"{before / 1e6:.0f} MB became {after / 1e6:.0f} MB"
    # Usually: files and connections are open for a moment more, or less.
    files = [round(median(one[2] for one in part)) for part in (early, late)]
    assert files[1] <= files[0]
    return (
        f"{count} pictures: {before / 1e6:.0f} MB after {FIRST}, {after / 1e6:.0f} MB at the end, "
        f"open files {files[0]} and {files[1]}"
    )


@pytest.mark.slow
def test_a_few_pictures_leave_no_file_open(tmp_path):
    with serve_app(tmp_path) as client:
        samples = [*watch_app(client, draw(tmp_path / "album", FEW))]
    files = [one[2] for one in samples]
    early, late = median(files[FEW // 6 : FEW // 2]), median(files[FEW // 2 :])
    assert late - early <= 2, "of connections one more or less is open, of pictures none"


@pytest.mark.slow
def test_restore_over_many_pictures(tmp_path, record_property):
    figure = see_that_it_stays_flat([*watch_restore(tmp_path, MANY)], MANY)
    record_property("figure", f"restore, {figure}")


@pytest.mark.slow
def test_the_page_over_many_pictures(tmp_path, record_property):
    with serve_app(tmp_path) as client:
        samples = [*watch_app(client, draw(tmp_path / "album", MANY))]
    record_property("figure", f"page, {see_that_it_stays_flat(samples, MANY)}")
