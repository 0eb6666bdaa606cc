import json

import pytest

from idemnet.evaluation.metrics import summarise
from idemnet.steps.data import Evaluation


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
    return found


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
    return summarise(Evaluation("0", ABOUT, ROWS, {"parameters": 7}, []))


def test_figures_are_means_over_images(metrics):
    assert metrics["input"] == {"psnr": 20, "ssim": 0.5, "images": 3}
    assert metrics["restored"] == {"psnr": 23, "ssim": 0.5, "images": 3}


def test_each_level_is_counted_by_itself(metrics):
    assert list(metrics["levels"]) == ["5", "11"]
    assert metrics["levels"]["5"]["restored"] == {"psnr": 26.5, "ssim": 0.5, "images": 2}
    assert metrics["levels"]["11"]["input"]["images"] == 1


def test_detailed_figures_say_how_few_images_they_are_of(metrics):
    assert metrics["repeat"] == {
        "chain": "float", "images": 2, "psnr": [24, 22], "ssim": [0.5, 0.5],
    }  # fmt: skip
    assert metrics["iterations"]["images"] == 2
    assert metrics["iterations"]["second"]["psnr"] == [1, 24]
    assert metrics["noise"]["5"]["restored"] == {"psnr": 23, "ssim": 0.5, "images": 2}


def test_the_keys_that_others_read_are_there(metrics):
    assert list(metrics) == [
        "task", "dataset", "protocol", "images", "device", "input", "restored", "levels",
        "repeat", "iterations", "noise", "cost",
    ]  # fmt: skip
    json.dumps(metrics, allow_nan=False)
