"""Protocols score as their data sets' papers do, and reject what they cannot score."""

import json
import math
from typing import get_args

import numpy as np
import pytest
from pydantic import ValidationError
from skimage import metrics as oracle

from idemnet.commands import options
from idemnet.errors import BadInputError
from idemnet.evaluation.protocols import PROTOCOLS, check_fits, mean_scores
from idemnet.imaging.image import round_to_8_bits
from idemnet.parameters.evaluate import EvaluateParameters, ProtocolName
from idemnet.tasks import get_task, task_names


@pytest.fixture(scope="module")
def pair() -> tuple[np.ndarray, np.ndarray]:
    """Return floats, some beyond black and white, and the 8-bit image that they should be."""
    rng = np.random.default_rng(1)
    blocks = rng.integers(0, 256, (6, 8, 3))
    reference = np.repeat(np.repeat(blocks, 8, axis=0), 8, axis=1).astype(np.uint8)
    return reference / 255 + rng.normal(0, 0.05, reference.shape), reference


@pytest.mark.parametrize("name", PROTOCOLS)
def test_scores_are_the_measures_it_names(name, pair):
    protocol = PROTOCOLS[name]
    scores = protocol.score(*pair)
    assert tuple(scores) == protocol.measures
    assert protocol.name == name and "\n" not in protocol.description
    assert 20 < scores["psnr"] < 40 and 0.5 < scores["ssim"] < 1


def test_names_are_the_same_wherever_they_are_written():
    assert tuple(PROTOCOLS) == get_args(ProtocolName) == options.PROTOCOLS


@pytest.mark.parametrize("name", ["gopro", "realblur", "rgb", "rain"])
def test_floats_are_rounded_to_eight_bits_first(name, pair):
    restored, reference = pair
    protocol = PROTOCOLS[name]
    assert protocol.score(restored, reference) == protocol.score(
        round_to_8_bits(restored), reference
    )


def test_rounding_clips_and_goes_to_the_nearest():
    floats = np.array([-0.2, 0.0, 0.4 / 255, 0.6 / 255, 99.6 / 255, 1.0, 1.7])
    assert round_to_8_bits(floats).tolist() == [0, 0, 0, 1, 100, 255, 255]


def test_griddehaze_neither_rounds_nor_clips(pair):
    restored, reference = pair
    scores = PROTOCOLS["griddehaze"].score(restored, reference)
    clean = reference / 255
    expected = oracle.peak_signal_noise_ratio(clean, restored, data_range=1)
    assert scores["psnr"] == pytest.approx(expected, abs=1e-4)
    similar = oracle.structural_similarity(clean, restored, channel_axis=2, data_range=1)
    assert scores["ssim"] == pytest.approx(similar, abs=1e-4)
    assert scores != PROTOCOLS["griddehaze"].score(round_to_8_bits(restored), reference)


def test_griddehaze_takes_eight_bits_for_what_they_are(pair):
    restored, reference = round_to_8_bits(pair[0]), pair[1]
    protocol = PROTOCOLS["griddehaze"]
    assert protocol.score(restored, reference) == protocol.score(restored / 255, reference)


def test_a_mean_of_psnr_is_not_the_psnr_of_a_mean_error():
    reference = np.full((16, 16, 3), 100, np.uint8)
    images = [reference + np.uint8(1), reference + np.uint8(10)]
    scores = [PROTOCOLS["rgb"].score(image, reference) for image in images]
    mean = mean_scores(scores)["psnr"]
    assert mean == pytest.approx(20 * math.log10(255) - (0 + 20) / 2)
    pooled = oracle.peak_signal_noise_ratio(np.stack([reference] * 2), np.stack(images))
    assert mean > pooled + 5


@pytest.mark.parametrize("name", ["gopro", "rgb", "griddehaze", "rain"])
def test_identical_images_count_as_the_highest_psnr(name, pair):
    scores = PROTOCOLS[name].score(pair[1], pair[1])
    assert scores["psnr"] == 100
    assert scores["ssim"] == pytest.approx(1)
    json.dumps(mean_scores([scores]), allow_nan=False)


def test_a_score_that_is_not_a_number_is_an_error(pair, monkeypatch):
    monkeypatch.setattr("idemnet.imaging.metrics.SsimReference.ssim", lambda *_: math.nan)
    with pytest.raises(BadInputError, match="its ssim is not a finite number"):
        PROTOCOLS["rgb"].score(*pair)


def test_images_of_other_shapes_are_rejected(pair):
    with pytest.raises(BadInputError, match="48x63x3 cannot be compared with one of 48x64x3"):
        PROTOCOLS["rgb"].score(pair[1][:, 1:], pair[1])
    with pytest.raises(BadInputError, match="48x64 "):
        PROTOCOLS["rgb"].score(pair[1][..., 0], pair[1][..., 0])


@pytest.mark.parametrize("task", task_names())
def test_only_protocols_of_the_task_fit(task):
    fitting = get_task(task).protocols
    for name in PROTOCOLS:
        if name in fitting:
            check_fits(name, task, forced=False)
        else:
            with pytest.raises(BadInputError) as refused:
                check_fits(name, task, forced=False)
            assert all(word in str(refused.value) for word in (name, task, *fitting, "force"))
        check_fits(name, task, forced=True)


def test_brightness_alone_is_not_scored_for_gopro():
    with pytest.raises(BadInputError, match="'rain' does not fit task 'deblur'"):
        check_fits("rain", "deblur", forced=False)


def test_an_unknown_protocol_is_rejected():
    assert EvaluateParameters(protocol="gopro").force_protocol is False
    with pytest.raises(ValidationError):
        EvaluateParameters(protocol="psnr")
