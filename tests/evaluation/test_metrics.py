"""Means over images, and metrics.json as other programs know it."""

import json

import pytest
from pydantic import ValidationError

from idemnet.evaluation.metrics import summarise
from idemnet.steps.data import Evaluation
from idemnet.steps.metrics import Cost, ImageScores, Metrics


def scores(psnr, ssim=0.5):
    return {"psnr": psnr, "ssim": ssim}


def row(level, before, after, *, repeat=None):
    found = {
        "sequence": "s", "frame": "1", "level": level,
        "input": scores(before), "restored": scores(after),
    }  # fmt: skip
    if repeat:
        once = {"psnr": [1.0, after], "every": [2.0, 3.0], "sum": [2.0, 4.0]}
        found["repeat"] = {"psnr": repeat, "ssim": [0.5] * len(repeat)}
        found["iterations"] = {"first": once, "second": once}
        found["noise"] = {"5": {"input": scores(before - 1), "restored": scores(after - 1)}}
    return ImageScores.model_validate(found)


ABOUT = {
    "task": "deblur", "dataset": "builtin", "protocol": "gopro", "chain": "float", "device": "cpu",
}  # fmt: skip
ROWS = [
    row(5, 30.0, 32.0, repeat=[32.0, 31.0]),
    row(5, 20.0, 21.0),
    row(11, 10.0, 16.0, repeat=[16.0, 13.0]),
]


@pytest.fixture
def metrics():
    cost = Cost.model_validate({
        "parameters": 7, "macs": {"1280x720": 8}, "device": "cpu", "device_name": "a processor",
        "seconds": {"median": 1.0, "p95": 2.0, "runs": 3, "height": 4, "width": 5},
        "peak_memory_mb": 6.0,
    })  # fmt: skip
    return summarise(Evaluation("0", ABOUT, ROWS, cost, []))


def dump(model):
    return model.model_dump()


def test_figures_are_means_over_images(metrics):
    assert dump(metrics.input) == {"psnr": 20, "ssim": 0.5, "images": 3}
    assert dump(metrics.restored) == {"psnr": 23, "ssim": 0.5, "images": 3}
    assert metrics.gain == 3


def test_each_level_is_counted_by_itself(metrics):
    assert list(metrics.levels) == ["5", "11"]
    assert dump(metrics.levels["5"].restored) == {"psnr": 26.5, "ssim": 0.5, "images": 2}
    assert metrics.levels["11"].input.images == 1


def test_detailed_figures_say_how_few_images_they_are_of(metrics):
    assert dump(metrics.repeat) == {
        "chain": "float", "images": 2, "psnr": [24, 22], "ssim": [0.5, 0.5],
    }  # fmt: skip
    assert metrics.repeat.loss == 2
    assert metrics.iterations.images == 2
    assert metrics.iterations.second.psnr == [1, 24]
    assert metrics.iterations.second.change == 4
    assert dump(metrics.noise["5"].restored) == {"psnr": 23, "ssim": 0.5, "images": 2}


def test_the_keys_that_others_read_are_there(metrics):
    assert list(json.loads(metrics.to_files()["metrics.json"])) == [
        "task", "dataset", "protocol", "images", "device", "input", "restored", "levels",
        "repeat", "iterations", "noise", "cost",
    ]  # fmt: skip


def test_what_differs_between_machines_is_in_a_file_of_its_own(metrics):
    files = metrics.to_files()
    assert json.loads(files["metrics.json"])["cost"] == {
        "parameters": 7, "macs": {"1280x720": 8}, "device": "cpu",
    }  # fmt: skip
    assert list(json.loads(files["timing.json"])) == ["seconds", "peak_memory_mb", "device_name"]
    assert Metrics.from_files(files.__getitem__) == metrics


def test_metrics_of_another_shape_are_rejected(metrics):
    with pytest.raises(ValidationError, match="restored"):
        Metrics.model_validate(metrics.model_dump(exclude={"restored"}))
    with pytest.raises(ValidationError, match="lpips"):
        Metrics.model_validate({**metrics.model_dump(), "lpips": 1.0})
