"""The same loop trains every model, with and without the idempotent constraint."""

from inspect import signature

import pytest
import torch
from pydantic import ValidationError

from idemnet.hooks.parameters import describe_faults
from idemnet.models import MODELS, load_weights
from idemnet.parameters.network import NetworkParameters
from idemnet.parameters.train import TrainParameters
from idemnet.tasks import get_task
from idemnet.training.launch import launch
from idemnet.training.result import describe

from .tiny import make_job


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("model", ["dmphn", "mtrnn"])
def test_the_loop_trains_it(tmp_path, model, times):
    job = make_job(tmp_path, model=model, times=times, epochs=1, warmup_epochs=0)
    before = job.build_model().state_dict()
    launch(job)
    final = job.checkpoints.load(job.fingerprint)
    assert final["step"] == 3
    assert ("idempotent" in final["history"][0]) == (times == 2)
    assert any(not torch.equal(before[name], tensor) for name, tensor in final["model"].items())
    trained = describe(job, final)
    assert trained.card["architecture"] == model
    assert trained.card["arguments"] == job.parameters.network_arguments
    restored = MODELS[model](**trained.card["arguments"])
    load_weights(restored, trained.weights, "trained")


def test_every_model_has_a_group_of_arguments_which_it_takes_with_the_same_defaults():
    assert NetworkParameters.model_fields.keys() == MODELS.keys()
    for name, build in MODELS.items():
        arguments = TrainParameters(model=name).network_arguments
        defaults = {k: v.default for k, v in signature(build).parameters.items()}
        assert arguments == {key: defaults[key] for key in arguments}
        assert set(defaults) - set(arguments) == {"checkpoint_iterations"}


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


def test_arguments_of_another_model_are_refused_by_their_key():
    train = {"model": "dmphn", "network": {"dmphn": {"iterations": 3}}}
    faults = [
        fault
        for fault in describe_faults("deblur", get_task("deblur").parameters, {"train": train})
        if "train" in fault
    ]
    assert faults == ["  deblur.train.network.dmphn.iterations = 3: Extra inputs are not permitted"]
    with pytest.raises(ValidationError, match=r"network\.width"):
        TrainParameters.model_validate({"network": {"width": 3}})
