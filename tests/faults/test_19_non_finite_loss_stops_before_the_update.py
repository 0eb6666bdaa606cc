"""A non-finite loss or gradient stops a training before it changes a weight."""

import copy
import sqlite3
from dataclasses import replace

import pytest

from idemnet.tracking.tracker import Tracker
from idemnet.training.launch import create_state, launch
from idemnet.training.loader import open_loader
from idemnet.training.loop import Objective, update
from idemnet.training.pending import PendingUpdates
from idemnet.training.process_group import ProcessGroup

from ..training.tiny import RandomPatches, Record, digest, make_job, run_apart

CASES = {
    "NaN in an image": (RandomPatches(poison="nan", after=4 * 4), {}, 4, "loss nan, gradient nan"),
    # Passes that are to agree join in the second epoch.
    "infinite loss": (RandomPatches(), {"idempotence_weight": 1e39}, 3, "loss inf, gradient"),
    "infinite gradient": (
        RandomPatches(), {"idempotence_weight": 1e30}, 3, r"loss \d[^,]*, gradient inf",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_names_epoch_step_and_samples_and_keeps_the_last_good_checkpoint(tmp_path, case):
    patches, settings, step, said = CASES[case]
    record = Record()
    job = make_job(tmp_path, replace(patches, reads=[]), record, **settings)
    samples = r"samples: (s\d+/1 level 5 at \(\d+, \d+\)(, )?){4}$"
    with pytest.raises(RuntimeError, match=rf"{said}.* in epoch 1, step {step}: .*{samples}"):
        launch(job)
    left = job.load_checkpoint()
    assert left["step"] == step // 2 * 2  # a checkpoint every two steps
    assert all(tensor.isfinite().all() for tensor in left["model"].values())
    assert record.ended.startswith("RuntimeError: loss ")


@pytest.mark.parametrize("case", CASES)
def test_no_weight_and_no_moment_of_the_optimiser_is_changed(tmp_path, case):
    patches, settings, _, said = CASES[case]
    good = make_job(tmp_path)
    bad = make_job(tmp_path, replace(patches, reads=[], after=0), **settings)
    state, pending = create_state(good), PendingUpdates("cpu", scaled=False)
    state.step = good.steps_per_epoch
    objective, batch = Objective(state.model, good.parameters), next(iter(open_loader(good, 0)))
    update(objective, state, batch, good, pending)
    pending.read(ProcessGroup())
    before = copy.deepcopy((state.model.state_dict(), state.optimiser.state_dict()["state"]))
    worse = Objective(state.model, bad.parameters)
    update(worse, state, next(iter(open_loader(bad, 1))), bad, pending)
    update(objective, state, batch, good, pending)  # nor by any that comes before it is noticed
    with pytest.raises(RuntimeError, match=rf"{said}.*nothing was updated"):
        pending.read(ProcessGroup())
    after = (state.model.state_dict(), state.optimiser.state_dict()["state"])
    assert digest(after) == digest(before)


@pytest.mark.slow
def test_mlflow_has_the_run_as_failed(tmp_path):
    tracker = Tracker(tmp_path / "mlflow.db", "deblur", "tiny")
    job = make_job(tmp_path, RandomPatches(poison="nan", after=4 * 4), tracker)
    assert run_apart(launch, job) == 1
    with sqlite3.connect(tmp_path / "mlflow.db") as store:
        assert store.execute("select status from runs").fetchall() == [("FAILED",)]
        [(why,)] = store.execute("select value from tags where key = 'failure'").fetchall()
    assert why.startswith("RuntimeError: loss nan")
