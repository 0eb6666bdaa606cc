"""The same loop trains every model, with and without the idempotent constraint."""

from typing import get_type_hints

import pytest
import torch
from pydantic import ValidationError

from idemnet.errors import BadInputError
from idemnet.hooks.parameters import describe_faults
from idemnet.inference.receptive_field import measure_overlap
from idemnet.models import MODELS, build_network, load_weights
from idemnet.parameters.network import NetworkParameters
from idemnet.parameters.train import TrainParameters
from idemnet.tasks import get_task
from idemnet.training.launch import launch
from idemnet.training.result import describe

from .tiny import make_job


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("model", ["dmphn", "mtrnn", "unet"])
def test_the_loop_trains_it(tmp_path, model, passes):
    job = make_job(tmp_path, model=model, passes=passes, epochs=1, single_pass_epochs=0)
    before = job.build_model().state_dict()
    launch(job)
    final = job.checkpoints.load(job.fingerprint)
    assert final["step"] == 3
    assert ("idempotent" in final["history"][0]) == (passes == 2)
    assert any(not torch.equal(before[name], tensor) for name, tensor in final["model"].items())
    trained = describe(job, final)
    assert trained.card["architecture"] == model
    assert trained.card["arguments"] == job.parameters.network_arguments
    restored = build_network(model, trained.card["arguments"])
    load_weights(restored, trained.weights, "trained")
    assert trained.card["tile_overlap"] == measure_overlap(restored.eval(), "cpu")


def test_every_model_is_built_with_a_group_of_its_own():
    assert NetworkParameters.model_fields.keys() == MODELS.keys()
    for name, build in MODELS.items():
        [taken] = get_type_hints(build.__init__).keys() - {"return"}
        group = NetworkParameters.model_fields[name].annotation
        assert get_type_hints(build.__init__)[taken] is group
        assert TrainParameters(model=name).network_arguments == group().model_dump(mode="json")


@pytest.mark.parametrize("model", ["idempotent", "dmphn", "mtrnn"])
def test_recomputing_is_the_training_s_switch_and_in_no_card(tmp_path, model):
    job = make_job(tmp_path, model=model, checkpoint_iterations=True)
    assert job.build_model().checkpoint_iterations
    assert not build_network(model, job.parameters.network_arguments).checkpoint_iterations
    assert "checkpoint_iterations" not in job.parameters.network_arguments


def test_a_network_that_cannot_recompute_says_so(tmp_path):
    job = make_job(tmp_path, model="torch.nn:Identity", checkpoint_iterations=True)
    with pytest.raises(BadInputError, match=r"'torch\.nn:Identity' has no checkpoint_iterations"):
        job.build_model()


@pytest.mark.parametrize(
    ("model", "argument", "value"),
    [
        ("idempotent", "width", 0),
        ("idempotent", "iterations", 0),
        ("idempotent", "downscale", 0),
        ("idempotent", "recurrence_tap", "deconvolution"),
        ("idempotent", "block", "dense"),
        ("idempotent", "checkpoint_iterations", True),
        ("dmphn", "stack", 0),
        ("dmphn", "width", 0),
        ("dmphn", "downscale", 3),
        ("dmphn", "iterations", 3),
        ("mtrnn", "width", 0),
        ("mtrnn", "iterations", 0),
        ("mtrnn", "downscale", 0),
    ],
)
def test_impossible_arguments_are_rejected_by_name(model, argument, value):
    with pytest.raises(BadInputError, match=rf"^{model}\.{argument} = {value!r}: \w"):
        build_network(model, {argument: value})


def test_groups_of_other_models_change_nothing(tmp_path):
    base = make_job(tmp_path, model="mtrnn")
    networks = {"mtrnn": {"width": 2, "iterations": 2}}
    assert base.fingerprint == make_job(tmp_path, model="mtrnn", network=networks).fingerprint
    networks["mtrnn"]["width"] = 3
    assert base.fingerprint != make_job(tmp_path, model="mtrnn", network=networks).fingerprint
    assert base.fingerprint != make_job(tmp_path, model="dmphn").fingerprint


def test_records_hold_the_chosen_model_s_arguments_alone():
    parameters = TrainParameters.model_validate(
        {"model": "dmphn", "network": {"dmphn": {"stack": 2}, "mtrnn": {"width": 5}}}
    )
    assert parameters.model_dump(mode="json")["network"] == {
        "stack": 2, "width": 32, "downscale": 1, "residual_scale": None,
    }  # fmt: skip


def test_arguments_of_another_model_are_rejected_by_their_key():
    train = {"model": "dmphn", "network": {"dmphn": {"iterations": 3}}}
    faults = [
        fault
        for fault in describe_faults("deblur", get_task("deblur").parameters, {"train": train})
        if "train" in fault
    ]
    assert faults == ["  deblur.train.network.dmphn.iterations = 3: Extra inputs are not permitted"]
    with pytest.raises(ValidationError, match=r"network\.width"):
        TrainParameters.model_validate({"network": {"width": 3}})
