"""Validation on whole held-out images, beside patches."""

import signal
from dataclasses import replace
from math import prod

import pytest
import torch
from skimage.metrics import peak_signal_noise_ratio

from idemnet.inference.restore import restore
from idemnet.models import build_network
from idemnet.parameters.restore import RestoreParameters
from idemnet.parameters.train import TrainParameters
from idemnet.training.job import LOGGED
from idemnet.training.launch import launch
from idemnet.training.validation import validate_images

from .tiny import TILED, RandomPatches, Record, digest, make_job, run_apart, trained, whole_images

NAMES = {"validation/image_psnr", "validation/image_psnr_input"}
EVERY_TWO = {"validation_images": 2, "validation_image_epochs": 2}


def job_with_images(folder, train=None, record=None, width=50, **changes):
    return replace(
        make_job(folder, train, record, **EVERY_TWO, **changes), images=whole_images(1, width)
    )


def test_whole_images_are_scored_in_tiles_as_they_are_evaluated():
    torch.manual_seed(0)
    model = build_network("idempotent", {"width": 4, "iterations": 1, "residual_scale": 0.1}).eval()
    sizes = []
    model.register_forward_hook(lambda _, inputs, __: sizes.append(prod(inputs[0].shape[-2:])))
    images = whole_images(2, TILED)
    scores = validate_images(model, images, "cpu")
    tiles = sizes[-2 * len(images) :]  # before them, the overlap is measured
    assert min(tiles) > 100_000 and max(tiles) <= 512**2
    before, after = [], []
    for pair in images:
        restored = restore(model, pair.degraded(), RestoreParameters(tile=2048), "cpu")
        before.append(peak_signal_noise_ratio(pair.clean(), pair.degraded()))
        after.append(peak_signal_noise_ratio(pair.clean(), restored))
    assert scores["image_psnr_input"] == pytest.approx(sum(before) / 2, abs=1e-4)
    assert scores["image_psnr"] == pytest.approx(sum(after) / 2, abs=1e-3)


def test_they_are_scored_at_their_own_interval_and_at_the_end(tmp_path):
    record = Record()
    job = job_with_images(tmp_path, record=record, epochs=5)
    history = trained(job)["history"]
    assert [row["epoch"] for row in history if row.keys() >= NAMES] == [1, 3, 4]
    assert all("validation/psnr" in row for row in history)
    for row in history:
        logged = record.values[(int(row["epoch"]) + 1) * job.steps_per_epoch]
        assert {name: logged.get(f"epoch/{name}") for name in NAMES} == {
            name: row.get(name) for name in NAMES
        }


def test_they_neither_choose_weights_nor_make_another_training(tmp_path):
    without, beside = make_job(tmp_path / "without"), job_with_images(tmp_path / "with")
    assert beside.fingerprint == without.fingerprint
    assert set(TrainParameters.model_fields) >= LOGGED
    assert digest(trained(beside)["best"]) == digest(trained(without)["best"])


def test_a_killed_training_resumes_to_the_same_scores(tmp_path):
    killing = RandomPatches(poison="kill", after=4 * 7)
    assert run_apart(launch, job_with_images(tmp_path, killing, width=TILED)) == -signal.SIGKILL
    resumed = trained(job_with_images(tmp_path, width=TILED))
    assert digest(resumed) == digest(trained(job_with_images(tmp_path / "whole", width=TILED)))
