"""Cards, checkpoints and run records from before parameters were renamed still load."""

import json
import signal

import pytest
import torch

from idemnet.inference.weights import TrainedModel, read_weights, write_weights
from idemnet.parameters.renamed import find_old_names
from idemnet.reporting.comparability import find_counterpart
from idemnet.reporting.comparison import tabulate
from idemnet.steps.data import TrackedRun
from idemnet.training.launch import launch

from ..reporting.test_report import other_run
from .tiny import RandomPatches, digest, make_job, run_apart, trained

OLD_FINGERPRINT = "a5eb03e49a43f46db549c7b03be33e0f9cb3b9ae856da233c3d3eb011229f853"
"""Of the tiny training, computed by the last version with the old names."""
OLD = {
    "passes": "times", "single_pass_epochs": "warmup_epochs", "warmup_steps": "rise_steps",
    "accumulation_steps": "accumulate", "ema_decay": "average",
}  # fmt: skip


def as_before(settings: dict) -> dict:
    return {OLD.get(name, name): value for name, value in settings.items()}


def test_an_old_training_is_found_under_its_fingerprint(tmp_path):
    assert make_job(tmp_path).fingerprint == OLD_FINGERPRINT


def test_an_old_checkpoint_is_resumed_to_the_same_weights(tmp_path):
    killing = RandomPatches(poison="kill", after=4 * 4)
    assert run_apart(launch, make_job(tmp_path / "old", killing)) == -signal.SIGKILL
    job = make_job(tmp_path / "old")
    saved = job.checkpoints.load(job.fingerprint)
    saved["mean"] = saved.pop("ema")
    saved["made_from"]["train"] = as_before(saved["made_from"]["train"])
    saved["environment"] = as_before(saved["environment"])
    assert saved["made_from"]["train"]["average"] == 0.5 and saved["environment"]["accumulate"] == 1
    job.checkpoints.save(job.fingerprint, saved["step"], saved)

    patches = RandomPatches()
    resumed = trained(make_job(tmp_path / "old", patches))
    assert len(patches.reads) == 4 * 5  # steps 5 to 9
    assert resumed["resumed_with"] == []
    never_stopped = trained(make_job(tmp_path / "new"))
    for part in ("model", "ema", "best"):
        assert digest(resumed[part]) == digest(never_stopped[part])


def test_an_old_card_is_read_with_the_new_names(tmp_path):
    training = {"times": 3, "average": 0.999, "network": {"times": 2}, "epochs": 1}
    card = {"task": "deblur", "training": training, "environment": {"accumulate": 2}}
    write_weights(tmp_path / "w", TrainedModel({"a": torch.zeros(1)}, card, []))
    assert json.loads((tmp_path / "w" / "card.json").read_text())["training"]["times"] == 3
    _, read = read_weights(tmp_path / "w" / "weights.safetensors")
    # An argument of somebody's network may be called as it likes.
    assert read["training"] == {
        "passes": 3, "ema_decay": 0.999, "network": {"times": 2}, "epochs": 1,
    }  # fmt: skip
    assert read["environment"] == {"accumulation_steps": 2}


def test_old_and_new_runs_compare():
    runs = [
        TrackedRun("old", "0", {}, {"train.times": "2", "train.average": "0.5"}, {}, {}),
        TrackedRun("new", "1", {}, {"train.passes": "1", "train.ema_decay": "0.5"}, {}, {}),
    ]
    table = {row[0]: row[1:] for row in tabulate(runs)}
    assert table["train.passes"] == ["2", "1"]
    assert not {"train.times", "train.average", "train.ema_decay"} & table.keys()


def test_a_report_finds_an_old_run_without_the_constraint():
    new = other_run("new", passes=2, weight=0.1)
    old = other_run("old")
    old["parameters"]["train.times"] = old["parameters"].pop("train.passes")
    found = find_counterpart(new["parameters"], new["metrics"], [old])
    assert found.name == "old" and found.differences == ()


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"deblur": {"train": {"average": 0.9}}}, "deblur.train.average was renamed to ema_decay"),
        ({"study": {"train": {"times": 2}}}, "study.train.times was renamed to passes"),
        (
            {"study": {"cells": {"plain": {"train": {"rise_steps": 5}}}}},
            "study.cells.plain.train.rise_steps was renamed to warmup_steps",
        ),
    ],
)
def test_an_old_name_is_described_with_its_path(parameters, said):
    assert list(find_old_names(parameters)) == [said]


def test_old_names_are_only_looked_for_where_they_were():
    own = {"train": {"arguments": {"times": 2}, "passes": 2}, "evaluate": {"average": 1}}
    assert list(find_old_names({"deblur": own})) == []
