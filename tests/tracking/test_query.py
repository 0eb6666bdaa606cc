"""Runs are found in the database as MLflow's own client finds them."""

import pytest
from mlflow import MlflowClient

from idemnet.errors import BadInputError
from idemnet.tracking.query import _read_server, find_runs, read_curve, read_runs


@pytest.fixture
def client(uri):
    return MlflowClient(uri, uri)


@pytest.fixture
def runs(client):
    """Three runs, the latest first; beside them, what nobody wants to see."""
    place = client.create_experiment("idemnet-deblur")
    other = client.create_experiment("idemnet-gone")
    elsewhere = client.create_experiment("cats")
    for number, experiment in enumerate([place, place, place, place, other, elsewhere]):
        run = client.create_run(
            experiment, start_time=1000 + number % 3, run_name=f"run-{number}",
            tags={"task": "deblur", "number": str(number)},
        ).info.run_id  # fmt: skip
        client.log_param(run, "train.seed", number)
        for step, value in ((2, 3.5), (1, 4.0), (3, float("nan"))):
            client.log_metric(run, "test/repeat/psnr", value, timestamp=7, step=step)
        client.log_metric(run, "test/images", 48)
        client.log_metric(run, "test/huge", float("inf"))
        if number == 1:
            client.delete_run(run)
    client.delete_experiment(other)
    return [f"run-{number}" for number in (2, 0, 3)]


def shown(runs):
    """NaN is not equal to itself, so compare what is written."""
    return [repr(run) for run in runs]


def test_the_database_holds_what_the_client_answers(uri, database, client, runs):
    ours = read_runs(database)
    theirs, their_curve = _read_server(uri)
    assert {run.name for run in ours} == set(runs)
    assert ours[0].name == runs[0]
    assert shown(ours) == shown(theirs)
    for run in ours:
        curve = read_curve(database, run.id, "test/repeat/psnr")
        assert repr(curve) == repr(their_curve(run.id, "test/repeat/psnr"))
        assert [step for step, _ in curve] == [1, 2, 3]


def test_runs_are_found_by_name_number_and_tag(uri, runs):
    [named] = find_runs(uri, ["run-0"])
    assert named.parameters == {"train.seed": "0"}
    assert named.curves["test/repeat/psnr"][:2] == [(1, 4.0), (2, 3.5)]
    assert [run.name for run in find_runs(uri, [named.id[:8]])] == ["run-0"]
    assert [run.name for run in find_runs(uri, ["number=3", "run-0"])] == ["run-3", "run-0"]
    with pytest.raises(BadInputError, match=r"run 'run-1' not found in sqlite:.* run-2, "):
        find_runs(uri, ["run-1"])


def test_a_file_that_is_no_database_of_mlflow_is_named(tmp_path):
    path = tmp_path / "mlflow.db"
    with pytest.raises(BadInputError, match=r"mlflow\.db: no runs are tracked here yet"):
        find_runs(f"sqlite:///{path}", ["a"])
    path.write_bytes(b"something else" * 100)
    with pytest.raises(BadInputError, match=r"mlflow\.db: is not an MLflow database"):
        find_runs(f"sqlite:///{path}", ["a"])
