"""A full disk ends a command with the space needed and free; it keeps files and leaves no rest."""

import re
import resource
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import torch

from idemnet.datasets.patches import PatchesDataset
from idemnet.errors import BadInputError
from idemnet.inference.weights import TrainedModel, write_weights
from idemnet.media.image_files import write_image
from idemnet.parameters.crop import CropParameters
from idemnet.pipelines.crop import crop
from idemnet.steps.data import Pair, Pairs
from idemnet.steps.plan import Plan, Recipe
from idemnet.steps.publish import publish
from idemnet.storage.atomic import NoRoomError
from idemnet.storage.executor import Job
from idemnet.training.launch import launch

from ..end_to_end.test_train import TRAIN, checkpoints, weights
from ..fetch.downloads import DATA, HALF, child, get, names, refused
from ..fetch.http_server import whole as sends_whole
from ..steps.test_publish import recipe, tree
from ..tracking.stores import history, recorded, runs
from ..training.tiny import RandomPatches, digest, limit_files, make_job, run_apart, trained

ROOM = r"File too large: at least \d[\d.]* \w+ is needed and \d[\d.]* \w+ is free"


@contextmanager
def full_disk(size: int = 1000):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit_files(size)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_download_is_rejected_before_it_begins(server, tmp_path):
    url = server.on("/a.zip", sends_whole(DATA, claim=10**17))
    message = refused([url, url], tmp_path, retries=3)
    assert "100000000.0 GB are needed, only " in message
    assert len(server.seen) == 1
    assert names(tmp_path) == []


def test_a_download_leaves_nothing_and_the_next_run_succeeds(server, tmp_path):
    url = server.on("/a.zip", sends_whole(DATA))
    with child(url, tmp_path, most=HALF) as process:
        _, error = process.communicate(timeout=30)
    assert process.returncode == 1
    assert re.search(r"File too large: at least 1\.0 MB is needed and \d[\d.]* \w+ is free", error)
    assert "Traceback" not in error
    assert names(tmp_path) == []
    assert get(url, tmp_path).read_bytes() == DATA


def test_a_step_is_rejected_before_it_begins(tmp_path):
    plan = Plan([Job(("a.png",), lambda wanted: iter(()))], bytes_needed=10**18)
    with pytest.raises(BadInputError, match=r"1000000000\.0 GB are needed, only .* GB are free"):
        publish(tmp_path / "set", Recipe("f" * 64, lambda: plan), write_image)
    assert not (tmp_path / "set").exists()


def make_noise(size: int, limit: int | None, wanted):
    """Yield images; the worker's disk is full before the first."""
    if limit:
        limit_files(limit)
    random = np.random.default_rng(0)
    for name in wanted:
        yield name, random.integers(0, 256, (size, size, 3), np.uint8)


@pytest.mark.parametrize(("size", "full"), [(40, r"files/09\.png"), (2, r"journals/0\.jsonl")])
def test_a_step_keeps_the_folder_of_before_and_resumes_once_there_is_room(tmp_path, size, full):
    def noise(limit: int | None) -> Recipe:
        made = tuple(f"{number:02d}.png" for number in reversed(range(10)))
        return Recipe("d" * 64, lambda: Plan([Job(made, partial(make_noise, size, limit))]))

    publish(tmp_path / "set", recipe(tmp_path / "log"), write_image)
    before = tree(tmp_path / "set")
    with pytest.raises(NoRoomError, match=f"{full}: {ROOM}"):
        publish(tmp_path / "set", noise(600), write_image)
    assert tree(tmp_path / "set") == before
    assert not list(tmp_path.rglob("*.tmp"))
    publish(tmp_path / "set", noise(None), write_image)
    assert len(tree(tmp_path / "set")) == 10 + 1


@dataclass(frozen=True)
class Black:
    """An image; decoding it may fill the disk."""

    fills: bool
    name: str = "image"

    def __call__(self):
        if self.fills:
            limit_files()
        return np.zeros((24, 24, 3), np.uint8)


def test_cropping(tmp_path):
    cut = CropParameters(size=24, stride=24, min_contrast=0, validation_fraction=0)
    dataset = PatchesDataset(str(tmp_path / "patches" / "set"))

    def save(fills: bool) -> None:
        pair = Pair("train", "s", "1", 5, 24, 24, Black(fills), Black(fills))
        dataset.save(crop(Pairs("pairs", [pair], "set"), cut))

    with pytest.raises(Exception, match=rf"train/patches\.npy: {ROOM}"):
        save(fills=True)
    assert not dataset.exists()
    assert not list(tmp_path.rglob("*.tmp"))
    save(fills=False)
    assert len(dataset.load().splits["train"].rows) == 1


def test_weights(tmp_path):
    small, large = (
        TrainedModel({"a": torch.zeros(count)}, {"parameters": count}, []) for count in (1, 1000)
    )
    write_weights(tmp_path / "set", small)
    before = tree(tmp_path)
    with full_disk(), pytest.raises(NoRoomError, match=rf"weights\.safetensors: {ROOM}"):
        write_weights(tmp_path / "set", large)
    assert tree(tmp_path) == before
    assert names(tmp_path) == ["set"]
    write_weights(tmp_path / "set", large)
    assert tree(tmp_path) != before


def test_a_checkpoint(tmp_path, whole):
    full = make_job(tmp_path, RandomPatches(poison="disk", after=4 * 4))
    assert run_apart(launch, full) == 1
    before = tree(tmp_path)
    assert [name[17:26] for name in sorted(before)] == ["000000002", "000000004"]
    with full_disk(), pytest.raises(NoRoomError, match=rf"000000006-\w+\.pt: {ROOM}"):
        full.save_checkpoint(6, {"model": torch.zeros(1000)})
    assert tree(tmp_path) == before
    assert digest(trained(make_job(tmp_path))) == whole


@pytest.mark.usefixtures("patience")
def test_a_run_in_mlflow(database, uri, caplog):
    """It only misses what it is told once there is room again."""
    with recorded(database) as run:
        run.log(1, {"loss": 1.0})
        run.flush()
        with full_disk():
            run.log(2, {"loss": 0.5})
            run.flush()
        assert caplog.text.count("training continues") == 1
    [found] = runs(uri)
    assert history(uri, found.info.run_id, "loss") == [(1, 1.0), (2, 0.5)]


@pytest.mark.slow
def test_the_command_reports_it_and_ends_the_same_once_there_is_room(project, trained):
    project.run("kedro", "run", "--pipeline=prepare_deblur")
    before = project.bytes_below()
    full = ("bash", "-c", 'ulimit -f 20; exec "$@"', "-")
    refused = project.run(*full, *TRAIN, check=False)
    assert refused.returncode == 1
    assert re.search(rf"\.pt: {ROOM}", refused.stderr), refused.stderr
    assert "Traceback" not in refused.stderr.partition("Error: ")[2]
    assert before.items() <= project.bytes_below().items()
    assert checkpoints(project) == [] and not list(project.folder.glob("data/06_models/**/.*.tmp"))
    project.run(*TRAIN)
    assert weights(project) == weights(trained)
