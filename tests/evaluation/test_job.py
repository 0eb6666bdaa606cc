from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from skimage.metrics import peak_signal_noise_ratio

from idemnet.errors import BadInputError
from idemnet.evaluation.job import COST, EvaluationJob, evenly_spaced
from idemnet.inference.network import Network
from idemnet.models import build_network
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.steps.data import Pair

ARGUMENTS = {"width": 4, "iterations": 2}


@dataclass(frozen=True)
class Noise:
    seed: int
    name: str = "noise.png"

    def __call__(self):
        return np.random.default_rng(self.seed).integers(0, 256, (21, 30, 3), np.uint8)

    def size(self):
        return 21, 30


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build_network("idempotent", ARGUMENTS).eval()


@pytest.fixture
def job(model):
    pairs = [Pair("test", "s", str(n), 5, 21, 30, Noise(n), Noise(99)) for n in range(5)]
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    parameters = EvaluateParameters(
        protocol="gopro", passes=2, noise=(), detailed_images=2, samples=2, device="cpu"
    )
    return EvaluationJob(tuple(pairs), Network("idempotent", ARGUMENTS, weights), parameters, "cpu")


def test_every_item_is_made_once(job):
    made = list(job.make(job.names))
    assert sorted(name for name, _ in made) == sorted(job.names)
    rows = {name: row for name, row in made if name.startswith("image")}
    assert [name for name, row in rows.items() if "repeat" in row] == ["image 0", "image 4"]


def test_only_what_is_wanted_is_made(job):
    assert {name for name, _ in job.make(["image 3", "sample 0"])} == {"image 3", "sample 0"}


def test_scores_are_those_of_the_network(job, model):
    rows = dict(job.make([f"image {number}" for number in range(5)]))
    for number, pair in enumerate(job.pairs):
        image = torch.from_numpy(pair.degraded()).permute(2, 0, 1)[None] / 255
        with torch.no_grad():
            restored = (model(image)[0].clamp(0, 1) * 255).round().byte().permute(1, 2, 0).numpy()
        expected = peak_signal_noise_ratio(pair.clean(), restored)
        assert rows[f"image {number}"]["restored"]["psnr"] == pytest.approx(expected, abs=1e-2)


def test_tiles_of_a_large_image_give_the_same_within_a_little(job):
    whole = dict(job.make(["image 0"]))["image 0"]["restored"]["psnr"]
    # Smaller than the parameters allow, so that a small image is cut.
    tiled = replace(
        job, parameters=job.parameters.model_copy(update={"tile": 20, "tile_overlap": 8})
    )
    assert dict(tiled.make(["image 0"]))["image 0"]["restored"]["psnr"] == pytest.approx(
        whole, abs=0.5
    )


def test_the_cost_is_counted_timed_and_weighed(job, model):
    [(_, cost)] = job.make([COST])
    assert cost["parameters"] == sum(one.numel() for one in model.parameters())
    assert cost["macs"]["1280x720"] == pytest.approx(cost["macs"]["256x256"] * 225 / 16)
    seconds = cost["seconds"]
    assert 0 < seconds["median"] <= seconds["p95"]
    assert (seconds["height"], seconds["width"]) == (21, 30)
    assert cost["device"] == "cpu"
    assert "threads" in cost["device_name"]


def test_an_image_that_cannot_be_read_is_the_error(job):
    @dataclass(frozen=True)
    class Broken(Noise):
        def __call__(self):
            raise BadInputError("noise.png: is truncated")

    broken = replace(job.pairs[2], degraded=Broken(0))
    with pytest.raises(BadInputError, match="truncated"):
        list(replace(job, pairs=(*job.pairs[:2], broken)).make(["image 1", "image 2"]))


def test_samples_are_spread_by_place():
    assert evenly_spaced(48, 4) == [0, 16, 31, 47]
    assert evenly_spaced(3, 4) == [0, 1, 2]
    assert evenly_spaced(9, 1) == [0]
