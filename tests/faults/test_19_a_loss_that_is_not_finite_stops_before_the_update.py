"""A loss or gradient that is not finite stops a training before it changes a weight."""

import sqlite3

import pytest
import torch

from idemnet.datasets.mlflow_store import upload
from idemnet.datasets.mlflow_uri import tracking_uri
from idemnet.datasets.tracking import TrackerDataset
from idemnet.training.launch import create_state, run_team
from idemnet.training.loader import open_loader
from idemnet.training.loop import Objective, update

from ..training.tiny import RandomPatches, Record, make_job


@pytest.mark.parametrize(
    ("poison", "said"),
    [("nan", "loss nan, gradient nan"), ("inf", "loss"), ("huge", r"loss \d[^,]*, gradient inf")],
)
def test_it_names_epoch_step_and_samples_and_keeps_the_last_good_checkpoint(tmp_path, poison, said):
    record = Record()
    job = make_job(tmp_path, RandomPatches(poison=poison, after=4 * 4), record)
    samples = r"samples: (s\d+/1 level 5 at \(\d+, \d+\)(, )?){4}$"
    with pytest.raises(RuntimeError, match=rf"{said}.* in epoch 1, step 4: .*{samples}"):
        run_team(job)
    assert sorted(path.name[:9] for path in tmp_path.glob("*/*")) == ["000000002", "000000004"]
    left = job.load_checkpoint()
    assert left["step"] == 4
    assert all(tensor.isfinite().all() for tensor in left["model"].values())
    assert record.ended.startswith("RuntimeError: loss ")


@pytest.mark.parametrize("poison", ["nan", "inf", "huge"])
def test_no_weight_and_no_mean_of_the_optimiser_is_changed(tmp_path, poison, one_thread):
    good, bad = make_job(tmp_path), make_job(tmp_path, RandomPatches(poison=poison))
    state = create_state(good)
    objective = Objective(state.model, good.parameters)
    update(objective, state, next(iter(open_loader(good, 0))), 0, good)
    before = {
        "model": {name: tensor.clone() for name, tensor in state.model.state_dict().items()},
        "moments": [
            one.clone() for kept in state.optimiser.state.values() for one in kept.values()
        ],
    }
    with pytest.raises(RuntimeError, match="nothing was updated"):
        update(objective, state, next(iter(open_loader(bad, 1))), 0, bad)
    after = state.model.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before["model"].items())
    moments = [one for kept in state.optimiser.state.values() for one in kept.values()]
    assert all(map(torch.equal, before["moments"], moments))


@pytest.mark.slow
def test_mlflow_has_the_run_as_failed(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "pyproject.toml").write_text(
        "[tool.kedro]\npackage_name='a'\nproject_name='a'\nkedro_init_version='1'"
    )
    runs = str(tmp_path / "data/runs/deblur")
    tracker = TrackerDataset(runs, {"deblur": "tiny"}).load()
    job = make_job(tmp_path, RandomPatches(poison="nan", after=4 * 4), tracker)
    with pytest.raises(RuntimeError, match="in epoch 1, step 4"):
        run_team(job)
    [journal] = tmp_path.rglob("journal")
    upload(journal, tracking_uri("", tmp_path), tracker.experiment)  # what there was no time for
    with sqlite3.connect(tmp_path / "mlflow.db") as store:
        assert store.execute("select status from runs").fetchall() == [("FAILED",)]
        [(why,)] = store.execute("select value from tags where key = 'failure'").fetchall()
    assert why.startswith("RuntimeError: loss nan")
