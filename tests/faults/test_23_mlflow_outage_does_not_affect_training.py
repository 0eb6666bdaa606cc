"""No outage of MLflow changes a training, delays it ten seconds, or loses or doubles a metric."""

import logging
import shutil
import socket
import sqlite3
import time
from contextlib import closing, contextmanager

import pytest

from idemnet.tracking.uri import sqlite_uri

from ..conftest import Project
from ..tracking.stores import broken, client, closed, content, history, recorded, runs, silent

pytestmark = pytest.mark.usefixtures("patience")

TRAIN = ("kedro", "run", "--pipeline=train_deblur", "--tags=train")
WEIGHTS = "data/06_models/deblur/builtin/weights.safetensors"
STEPS = 50


@pytest.fixture
def ready(prepared, make_project) -> Project:
    """A project in which there is nothing left to do but to train."""
    project = make_project("ready")
    shutil.copytree(prepared.folder / "data", project.folder / "data")
    return project


def logged(project: Project) -> list[tuple[str, int]]:
    """List every metric and step that a project's store has of a training."""
    with closing(sqlite3.connect(project.folder / "mlflow.db")) as store:
        found = store.execute(
            "select key, step from metrics where key not like 'test/%'"
        ).fetchall()
    return sorted(found)


@pytest.mark.slow
def test_a_server_that_never_answers_changes_no_byte(ready, trained, uri, monkeypatch):
    with silent() as nobody:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", nobody)
        output = ready.run(*TRAIN).stdout
    assert "`idemnet track push` will copy the rest" in output
    assert (ready.folder / WEIGHTS).read_bytes() == (trained.folder / WEIGHTS).read_bytes()
    assert logged(ready) == logged(trained)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    for said in ("pushed", "nothing to do"):
        assert ready.run("idemnet", "track", "push").stdout.endswith(f": {said}\n")
        assert content(uri) == content(sqlite_uri(ready.folder / "mlflow.db"))


def test_a_run_ends_with_a_push_and_one_that_tracked_nothing_without(ready, uri, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    output = ready.run(*TRAIN).stdout
    assert "track push" not in output
    [run] = runs(uri)
    assert run.info.status == "FINISHED"
    assert content(uri) == content(sqlite_uri(ready.folder / "mlflow.db"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    output, imported = ready.run_and_list_imports(*TRAIN)
    assert "track push" not in output and "mlflow" not in imported


@pytest.mark.slow
def test_no_outage_costs_a_training_ten_seconds(make_project, prepared, trained, monkeypatch):
    """The time of a run without a server is taken in between, as machines are busy at times."""

    def seconds(name: str, uri: str) -> float:
        project = make_project(name)
        shutil.copytree(prepared.folder / "data", project.folder / "data")
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        begun = time.monotonic()
        project.run(*TRAIN)
        took = time.monotonic() - begun
        assert (project.folder / WEIGHTS).read_bytes() == (trained.folder / WEIGHTS).read_bytes()
        assert logged(project) == logged(trained)
        return took

    for outage in (closed, silent, broken):
        alone = seconds(f"before {outage.__name__}", "")
        with outage() as nobody:
            assert seconds(outage.__name__, nobody) < alone + 10


def test_training_never_talks_to_a_server(database, monkeypatch):
    """Only the end of a run does, when everything is stored here."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{server.getsockname()[1]}")
        with recorded(database) as run:
            run.log(0, {"loss": 1})
            run.finish({"validation/selection": 1}, {"history.json": b"[]"})
        with pytest.raises(BlockingIOError):
            server.accept()


@contextmanager
def locked(store):
    with closing(sqlite3.connect(store)) as other:
        other.execute("begin exclusive")
        yield


@contextmanager
def damaged(store):
    content = store.read_bytes()
    store.write_bytes(b"no database" * 1000)
    yield
    store.write_bytes(content)


@contextmanager
def a_folder(store):
    kept = store.rename(store.with_suffix(".kept"))
    store.mkdir()
    yield
    store.rmdir()
    kept.rename(store)


def train(store, steps=range(STEPS)) -> float:
    """Log as a training does; return how long it took, from first to last."""
    begin = time.monotonic()
    with recorded(store) as run:
        for step in steps:
            run.log(step, {"loss": step, "rate": 0.5})
            time.sleep(0.02)
            if step % 10 == 9:
                run.flush()
    return time.monotonic() - begin - 0.02 * len(steps)


@pytest.mark.parametrize("outage", [locked, damaged, a_folder])
def test_a_store_that_cannot_be_written_costs_ten_seconds_and_is_reported(
    outage, database, uri, caplog
):
    train(database, range(10))
    with outage(database):
        assert train(database, range(10, 20)) < 10
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert "mlflow.db" in said[0]
    assert [text for text in said if text.endswith("; training continues")] == [said[1]]
    assert said[-1].endswith("repeat the command when the store can be written to")
    assert len(said) == 3
    train(database)  # the same command again
    [run] = runs(uri)
    assert [step for step, _ in history(uri, run.info.run_id, "loss")] == [
        *range(10),
        *range(10, STEPS),
    ]


def test_a_store_that_comes_back_while_training_has_everything_once(database, uri, caplog):
    train(database, range(10))
    with recorded(database) as run:
        with locked(database):
            for step in range(5, 20):  # resumed at step 5
                run.log(step, {"loss": step})
            run.flush()
        for step in range(20, 30):
            run.log(step, {"loss": step})
    assert "training continues" in caplog.text
    [found] = runs(uri)
    assert [step for step, _ in history(uri, found.info.run_id, "loss")] == list(range(30))
    assert client(uri).get_run(found.info.run_id).info.status == "RUNNING"
