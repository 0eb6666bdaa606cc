"""Training: the same to the bit however it is run, stopped by nothing but its end."""

import hashlib
import json
import math
import os
import pickle
import signal
import subprocess
import sys

import pytest
import torch

from idemnet.errors import BadInputError
from idemnet.inference.find_weights import find_weights
from idemnet.system.device import choose_device
from idemnet.system.resources import cores
from idemnet.tracking.checkpoints import Checkpoints
from idemnet.training import job as job_module
from idemnet.training import launch as launch_module
from idemnet.training.job import TrainingJob
from idemnet.training.launch import configure_cuda, launch
from idemnet.training.schedule import learning_rate
from idemnet.training.validation import selection_score

from .tiny import RandomPatches, Record, digest, make_job, run_apart, trained


def test_training_learns(tmp_path):
    job = make_job(tmp_path, epochs=30, single_pass_epochs=10)
    history = trained(job)["history"]
    assert history[-1]["sharp_1"] < 0.97 * history[0]["sharp_1"]
    assert "sharp_2" not in history[0] and "sharp_2" in history[-1]


def test_a_finished_training_is_not_trained_again(tmp_path):
    record = Record()
    launch(make_job(tmp_path, record=record))
    again = RandomPatches(poison="kill")
    launch(make_job(tmp_path, again, record=record))
    assert again.reads == []


def test_the_fingerprint_is_what_decides_the_result_in_exact_arithmetic(tmp_path):
    base = make_job(tmp_path).fingerprint
    for change in (
        {"workers": 3, "checkpoint_steps": 7, "checkpoint_minutes": 1, "time_limit_minutes": 1},
        {"threads": 2, "processes": 4, "device": "auto"},
        {"nodes": 2, "rendezvous": "first:29400", "rendezvous_minutes": 1, "accumulation_steps": 2},
        {"deterministic": True, "compile": True, "checkpoint_iterations": True},
    ):
        assert make_job(tmp_path, **change).fingerprint == base
    for change in (
        {"learning_rate": 2e-3},
        {"batch_size": 2},
        {"seed": 5},
        {"mixed_precision": "bf16"},
    ):
        assert make_job(tmp_path, **change).fingerprint != base


def test_threads_of_0_leave_busy_cores_to_other_programs(tmp_path):
    assert make_job(tmp_path, threads=3, processes=2).threads == 3
    assert 1 <= make_job(tmp_path, threads=0).threads <= cores()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores())]
    try:
        assert make_job(tmp_path, threads=0).threads == 1
    finally:
        for loop in busy:
            loop.kill()
            loop.wait()


def test_idle_cores_are_counted_once_before_the_processes_start(tmp_path, monkeypatch):
    started = []

    def send(job: TrainingJob) -> None:
        started.append(pickle.loads(pickle.dumps(job)))

    monkeypatch.setattr(launch_module, "elastic_launch", lambda config, member: send)
    monkeypatch.setattr(job_module, "idle_cores", lambda: 6)
    with pytest.raises(SystemExit):  # it is not finished
        launch(make_job(tmp_path, threads=0, processes=2))
    monkeypatch.setattr(job_module, "idle_cores", lambda: 2)
    assert [job.threads for job in started] == [3]


@pytest.mark.parametrize(("there", "expected"), [(2, 2), (1, 1)])
def test_threads_of_0_resume_with_the_number_of_before_where_there_are_cores_for_it(
    tmp_path, monkeypatch, there, expected
):
    before = make_job(tmp_path, threads=2)
    before.save_checkpoint(1, {"step": 1})
    monkeypatch.setattr(job_module, "cores", lambda: there)
    monkeypatch.setattr(job_module, "idle_cores", lambda: 1)
    job = make_job(tmp_path, threads=0)
    assert job.threads == expected
    changes = "" if there == 2 else "threads 2 -> 1"
    assert job.environment_changes(job.load_checkpoint()) == changes


def test_deterministic_sets_what_cuda_needs_and_gives_the_same_bits_on_a_cpu(tmp_path, monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    plain = trained(make_job(tmp_path / "plain", epochs=1))["model"]
    try:
        strict = trained(make_job(tmp_path / "strict", epochs=1, deterministic=True))["model"]
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.backends.cudnn.benchmark
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    finally:
        torch.use_deterministic_algorithms(mode=False)
    assert all(torch.equal(plain[name], strict[name]) for name in plain)


def test_without_mixed_precision_cuda_computes_in_fp32_and_not_in_tf32(tmp_path):
    for precision, reduced in (("auto", True), ("off", False)):
        configure_cuda(make_job(tmp_path, mixed_precision=precision))
        assert torch.backends.cuda.matmul.allow_tf32 is reduced
        assert torch.backends.cudnn.allow_tf32 is reduced


def test_checkpoints_are_saved_by_time_too(tmp_path):
    """After every step, as each takes longer than the interval."""
    rarely = {"checkpoint_steps": 1000, "checkpoint_minutes": 1e-9}
    killing = RandomPatches(poison="kill", after=4 * 5)
    assert run_apart(launch, make_job(tmp_path, killing, **rarely)) == -signal.SIGKILL
    assert make_job(tmp_path).load_checkpoint()["step"] == 5


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_at_its_time_limit_a_training_saves_and_exits_with_success(tmp_path, processes, caplog):
    settings = {"checkpoint_steps": 1000, "processes": processes}
    over = make_job(tmp_path, time_limit_minutes=1e-9, **settings)
    with pytest.raises(SystemExit) as left:
        launch(over)
    assert left.value.code == 0
    assert over.load_checkpoint()["step"] == 1  # a step is made in any case
    if processes == 1:  # else others say it
        assert "time_limit_minutes reached, saved; the same command resumes" in caplog.text
        one = trained(make_job(tmp_path, **settings))
        assert digest(one) == digest(trained(make_job(tmp_path / "whole", **settings)))


def test_dvc_does_not_take_a_training_at_its_time_limit_for_a_finished_stage(tmp_path, monkeypatch):
    monkeypatch.setenv("DVC_STAGE", "train@deblur")
    with pytest.raises(SystemExit) as left:
        launch(make_job(tmp_path, time_limit_minutes=1e-9))
    assert left.value.code == os.EX_TEMPFAIL


def test_nodes_that_do_not_meet_are_reported_after_a_timeout(tmp_path):
    alone = make_job(tmp_path, nodes=2, rendezvous_minutes=0.02)
    with pytest.raises(BadInputError, match=r"2 nodes did not meet at rendezvous = 'localhost:0'"):
        launch(alone)


def test_accumulating_parts_of_a_batch_gives_the_same_update(tmp_path):
    whole, parts = (
        trained(make_job(tmp_path, epochs=1, single_pass_epochs=0, accumulation_steps=n))
        for n in (1, 2)
    )
    for name, tensor in whole["model"].items():
        torch.testing.assert_close(tensor, parts["model"][name], rtol=1e-4, atol=1e-6)


def test_recomputing_iterations_gives_the_same_weights(tmp_path):
    plain, recomputed = (
        trained(make_job(tmp_path, checkpoint_iterations=flag)) for flag in (False, True)
    )
    for name, tensor in plain["model"].items():
        torch.testing.assert_close(tensor, recomputed["model"][name], rtol=1e-4, atol=1e-6)


def test_fine_tuning_starts_from_given_weights_and_rejects_others(tmp_path):
    from idemnet.inference.weights import pack
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
        launch(make_job(tmp_path / "wider", **wider))


def test_weights_are_chosen_by_validation_once_all_passes_have_joined(tmp_path):
    final = trained(make_job(tmp_path, epochs=6, single_pass_epochs=3))
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
    assert selection_score(steady, passes=2) > selection_score(just_joined, passes=2)
    assert selection_score(just_joined, passes=1) > selection_score(
        steady, passes=1
    )  # one pass is all it was asked for


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
    job = make_job(tmp_path, record=record, epochs=10)
    trained(job)
    assert {"step/total", "step/sharp_1", "step/residual"} <= set(record.values[10])
    rate = learning_rate(job.parameters, 9, job.steps_per_epoch)
    assert record.values[10]["step/learning_rate"] == rate
    assert record.values[10]["step/gradient_norm"] > 0
    assert record.values[10]["step/samples_per_second"] > 0
    assert {"epoch/sharp_1", "epoch/validation/psnr", "epoch/validation/gap"} <= set(
        record.values[3]
    )
    assert {name for _, name in record.images} == {"blurred", "restored", "sharp", "difference"}
    card = json.loads(record.artifacts["card.json"])
    assert card["sha256"] == hashlib.sha256(record.artifacts["weights.safetensors"]).hexdigest()
    assert record.tags["data_fingerprint"] == "data"
    best = card["validation"]
    assert record.scores["validation/psnr"] == best["psnr"]
    assert record.scores["validation/selection"] == (best["psnr"] + best["psnr_3"]) / 2


def test_a_device_that_does_not_exist_is_rejected_by_name():
    assert choose_device("cpu") == "cpu"
    if not torch.backends.mps.is_available():
        with pytest.raises(
            BadInputError, match="device = 'mps' is not available, this machine has"
        ):
            choose_device("mps")


def test_too_few_pairs_for_a_batch_are_rejected(tmp_path):
    with pytest.raises(BadInputError, match="batch_size = 4 exceeds the number of pairs, 3"):
        make_job(tmp_path, RandomPatches(3)).check()


def test_two_processes_train_as_one(tmp_path):
    alone, together = Record(), tmp_path / "together"
    settings = {"epochs": 10, "single_pass_epochs": 1, "batch_size": 4, "checkpoint_steps": 1000}
    one = trained(make_job(tmp_path / "one", record=alone, **settings))
    two = trained(make_job(together, **settings, processes=2))
    for a, b in zip(one["history"], two["history"], strict=True):
        assert a.keys() == b.keys()
        assert all(math.isclose(a[k], b[k], rel_tol=0, abs_tol=1e-5) for k in a if "valid" not in k)


@pytest.mark.slow
def test_a_process_that_dies_is_named_and_the_training_resumes_afterwards(tmp_path):
    settings = {"epochs": 4, "single_pass_epochs": 0, "processes": 2}
    dying = RandomPatches(poison="kill", after=2 * 8, rank="1")
    with pytest.raises(RuntimeError, match=r"training process of rank 1 failed \(.*SIGKILL"):
        launch(make_job(tmp_path, dying, **settings))
    job = make_job(tmp_path, **settings)
    left = job.checkpoints.load(job.fingerprint)
    assert 0 < left["step"] < job.steps
    assert trained(job)["step"] == job.steps


def test_starting_from_the_starter_never_takes_what_was_trained_here(tmp_path, monkeypatch):
    own = tmp_path / "data/06_models/derain/builtin"
    own.mkdir(parents=True)
    (own / "weights.safetensors").write_bytes(b"own")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("idemnet.inference.find_weights.files", lambda _: tmp_path)
    with pytest.raises(BadInputError, match="no weights for task 'derain' yet"):
        Checkpoints(tmp_path).initial_weights("starter", "derain")
    assert find_weights("derain").read_bytes() == b"own"
