"""Training: the same to the bit however it is run, stopped by nothing but its end."""

import hashlib
import json
import math

import pytest
import torch

from idemnet.datasets.checkpoint import Checkpoints
from idemnet.datasets.find_weights import find_weights
from idemnet.errors import BadInputError
from idemnet.models.device import choose_device
from idemnet.training.launch import run_team
from idemnet.training.validation import merit

from .tiny import RandomPatches, Record, make_job, trained


def test_training_learns(tmp_path):
    job = make_job(tmp_path, epochs=30, warmup_epochs=10)
    history = trained(job)["history"]
    assert history[-1]["sharp_1"] < 0.97 * history[0]["sharp_1"]
    assert "sharp_2" not in history[0] and "sharp_2" in history[-1]


def test_a_finished_training_is_not_trained_again(tmp_path):
    record = Record()
    run_team(make_job(tmp_path, record=record))
    again = RandomPatches(poison="kill")
    run_team(make_job(tmp_path, again, record=record))
    assert again.reads == []


def test_what_changes_no_result_changes_no_fingerprint(tmp_path):
    base = make_job(tmp_path).fingerprint
    assert make_job(tmp_path, workers=3, checkpoint_steps=7).fingerprint == base
    for change in ({"learning_rate": 2e-3}, {"threads": 2}, {"seed": 5}, {"times": 1}):
        assert make_job(tmp_path, **change).fingerprint != base


def test_accumulating_parts_of_a_batch_gives_the_same_update(tmp_path):
    whole, parts = (
        trained(make_job(tmp_path, epochs=1, warmup_epochs=0, accumulate=n)) for n in (1, 2)
    )
    for name, tensor in whole["model"].items():
        torch.testing.assert_close(tensor, parts["model"][name], rtol=1e-4, atol=1e-6)


def test_recomputing_iterations_gives_the_same_weights(tmp_path):
    plain, recomputed = (
        trained(make_job(tmp_path, checkpoint_iterations=flag)) for flag in (False, True)
    )
    for name, tensor in plain["model"].items():
        torch.testing.assert_close(tensor, recomputed["model"][name], rtol=1e-4, atol=1e-6)


def test_fine_tuning_starts_from_given_weights_and_refuses_others(tmp_path):
    from idemnet.models.packing import pack
    from idemnet.training.result import describe

    job = make_job(tmp_path / "first")
    files = pack(describe(job, trained(job)))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    start = str(tmp_path / "weights.safetensors")
    tuned = trained(make_job(tmp_path / "tuned", initialize_from=start, learning_rate=1e-8))
    best = job.checkpoints.load(job.fingerprint)["best"]["weights"]
    for name, tensor in best.items():
        torch.testing.assert_close(tensor, tuned["model"][name], rtol=0, atol=1e-6)
    network = {"idempotent": {"width": 6, "iterations": 2}}
    wider = {"network": network, "initialize_from": start}
    with pytest.raises(BadInputError, match=r"does not fit the network: .* instead of"):
        run_team(make_job(tmp_path / "wider", **wider))


def test_weights_are_chosen_by_validation_once_all_passes_have_joined(tmp_path):
    final = trained(make_job(tmp_path, epochs=6, warmup_epochs=3))
    joined = [row for row in final["history"] if row["epoch"] >= 3]
    best = max(joined, key=lambda row: row["validation/psnr"] + row["validation/psnr_3"])
    assert final["best"]["epoch"] == best["epoch"]
    assert final["best"]["scores"]["psnr"] == best["validation/psnr"]
    assert final["best"]["scores"]["gap"] == pytest.approx(
        best["validation/psnr"] - best["validation/psnr_3"]
    )


def test_weights_that_do_not_keep_what_they_gain_are_not_chosen():
    just_joined = {"psnr": 28.44, "psnr_3": 28.31}
    steady = {"psnr": 28.41, "psnr_3": 28.45}
    assert merit(steady, times=2) > merit(just_joined, times=2)
    assert merit(just_joined, times=1) > merit(steady, times=1)  # one pass is all it was asked for


def test_a_network_that_became_the_identity_is_reported(tmp_path, caplog):
    record = Record()
    network = {"idempotent": {"width": 4, "iterations": 1, "residual_scale": 0.0}}
    job = make_job(tmp_path, record=record, network=network, learning_rate=1e-9)
    final = trained(job)
    assert "collapsed to the identity" in caplog.text
    assert final["history"][0]["collapsed"] == 1.0
    assert any("epoch/collapsed" in values for values in record.values.values())


def test_steps_epochs_images_and_results_are_recorded(tmp_path):
    record = Record()
    trained(make_job(tmp_path, record=record, epochs=10))
    assert {"step/total", "step/sharp_1", "step/residual"} <= set(record.values[10])
    assert {"epoch/sharp_1", "epoch/validation/psnr", "epoch/validation/gap"} <= set(
        record.values[3]
    )
    assert {name for _, name in record.images} == {"blurred", "restored", "sharp", "difference"}
    card = json.loads(record.artifacts["card.json"])
    assert card["sha256"] == hashlib.sha256(record.artifacts["weights.safetensors"]).hexdigest()
    assert record.tags["data_fingerprint"] == "data"


def test_a_device_that_is_not_there_is_refused_by_name():
    assert choose_device("cpu") == "cpu"
    if not torch.backends.mps.is_available():
        with pytest.raises(BadInputError, match="device = 'mps' is not on this machine, which has"):
            choose_device("mps")


def test_too_few_pairs_for_a_batch_are_refused(tmp_path):
    with pytest.raises(BadInputError, match="batch_size = 4 is more than the 3 pairs"):
        make_job(tmp_path, RandomPatches(3)).check()


def test_two_processes_train_as_one(tmp_path):
    alone, together = Record(), tmp_path / "together"
    settings = {"epochs": 10, "warmup_epochs": 1, "batch_size": 4, "checkpoint_steps": 1000}
    one = trained(make_job(tmp_path / "one", record=alone, **settings))
    two = trained(make_job(together, **settings, processes=2))
    for a, b in zip(one["history"], two["history"], strict=True):
        assert a.keys() == b.keys()
        assert all(math.isclose(a[k], b[k], rel_tol=0, abs_tol=1e-5) for k in a if "valid" not in k)


def test_a_process_that_dies_is_named_and_the_training_goes_on_afterwards(tmp_path):
    settings = {"epochs": 4, "warmup_epochs": 0, "processes": 2}
    dying = RandomPatches(poison="kill", after=2 * 8, rank="1")
    with pytest.raises(RuntimeError, match=r"training process of rank 1 failed \(.*SIGKILL"):
        run_team(make_job(tmp_path, dying, **settings))
    job = make_job(tmp_path, **settings)
    left = job.checkpoints.load(job.fingerprint)
    assert 0 < left["step"] < job.steps
    assert trained(job)["step"] == job.steps


def test_starting_from_the_starter_never_takes_what_was_trained_here(tmp_path, monkeypatch):
    own = tmp_path / "data/06_models/derain/builtin"
    own.mkdir(parents=True)
    (own / "weights.safetensors").write_bytes(b"own")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("idemnet.datasets.find_weights.files", lambda _: tmp_path)
    with pytest.raises(BadInputError, match="there are no weights for 'derain' yet"):
        Checkpoints(tmp_path).initial_weights("starter", "derain")
    assert find_weights("derain").read_bytes() == b"own"
