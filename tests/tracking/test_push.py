"""Another store gets everything of the project's own, once, whatever interrupts the copying."""

import contextlib
import itertools
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy
from filelock import FileLock

from idemnet.errors import BadInputError
from idemnet.evaluation.metrics import summarise
from idemnet.tracking import push as pushing
from idemnet.tracking.registry import register
from idemnet.tracking.tracker import Tracker
from idemnet.tracking.uri import sqlite_uri

from ..conftest import BIN
from ..reporting.example_results import make_evaluation
from .stores import Server, client, content, postgresql, push, recorded, runs

pytestmark = pytest.mark.usefixtures("patience")


@pytest.fixture
def small(tables, tmp_path) -> Path:
    """A project's store with a study and a run below it, which is the champion."""
    (tmp_path / "project").mkdir()
    store = Path(shutil.copy(tables, tmp_path / "project"))
    with Tracker(store, "studies", "cells").run("5" * 64) as run:
        run.start("study", {}, {"study": "noise"})
    with recorded(store, parent="5" * 64) as run:
        for step in range(30):
            run.log(step, {"step/total": step / 3, "step/nan": float("nan")})
        run.image(3, "validation/restored", np.full((8, 8, 3), 99, np.uint8))
        run.finish({"validation/selection": 30.0}, {"history.json": b"[]"})
        run.evaluated("aa", summarise(make_evaluation()), {"plots/a.svg": b"<svg/>"})
    local = client(sqlite_uri(store))
    [finished] = [run for run in runs(sqlite_uri(store)) if run.data.tags["fingerprint"][0] == "0"]
    tags = {"validation/selection": "30.0", "dataset": "scenes"}
    register(local, finished.info.run_id, "idemnet-deblur", tags)
    local.set_registered_model_alias("idemnet-deblur", "champion", "1")
    return store


@pytest.fixture
def store(small) -> Path:
    """The same, with a run that failed."""
    with pytest.raises(ValueError, match="no"), recorded(small, "1" * 64) as run:
        run.log(0, {"step/total": 1})
        raise ValueError("no")
    return small


def test_everything_is_pushed_and_pushed_once(store, uri, monkeypatch):
    here = content(sqlite_uri(store))
    assert len(here["runs"]) == 3 and here["champions"]
    said = push(uri, store, monkeypatch)
    assert said.output == "study: pushed\nfirst: pushed\nfirst: pushed\n", said.output
    assert content(uri) == here
    said = push(uri, store, monkeypatch)
    assert said.output == "study: nothing to do\n" + 2 * "first: nothing to do\n"
    assert content(uri) == here

    with recorded(store, "1" * 64) as run:  # resumed, and ends well
        run.log(1, {"step/total": 2})
        run.finish({}, {"history.json": b"[1]"})
    assert push(uri, store, monkeypatch).output.count(": pushed") == 1
    assert content(uri) == content(sqlite_uri(store)) != here


class Dies:
    """A client whose process dies right after one of its calls."""

    def __init__(self, real, calls: int) -> None:
        self._real, self._calls = real, calls

    def __getattr__(self, name):
        def call(*args, **options):
            result = getattr(self._real, name)(*args, **options)
            self._calls -= 1
            if not self._calls:
                raise KeyboardInterrupt
            return result

        return call


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_after_any_call_and_pushed_again_nothing_is_there_twice(
    small, tables, tmp_path, monkeypatch, every
):
    here, real = content(sqlite_uri(small)), pushing.connect
    for calls in itertools.count(1, every):
        (tmp_path / str(calls)).mkdir()
        uri = sqlite_uri(Path(shutil.copy(tables, tmp_path / str(calls))))

        def connect(wanted, uri=uri, calls=calls):
            return Dies(real(wanted), calls) if wanted == uri else real(wanted)

        monkeypatch.setattr(pushing, "connect", connect)
        try:
            list(pushing.push(small, uri))
        except KeyboardInterrupt:
            monkeypatch.setattr(pushing, "connect", real)
            list(pushing.push(small, uri))
            assert content(uri) == here
        else:
            break
    assert calls > 20


@contextlib.contextmanager
def backend(kind: str, database: Path):
    if kind == "postgresql":
        with postgresql() as uri:
            yield uri
    else:
        yield sqlite_uri(database)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_server_killed_while_it_is_pushed_to_has_everything_once(
    store, database, tmp_path, monkeypatch, kind
):
    for number in range(2, 8):
        with recorded(store, str(number) * 64) as run:
            for step in range(200):
                run.log(step, {f"step/{name}": step / 3 for name in "abcde"})
            for step in range(10):
                run.image(step, "validation/restored", np.full((8, 8, 3), step, np.uint8))
            run.finish({"validation/selection": float(number)}, {"history.json": b"[]"})
    here = content(sqlite_uri(store))
    total = sum(len(run["metrics"]) for run in here["runs"].values())
    command = [BIN / "idemnet", "track", "push"]
    with backend(kind, database) as place, contextlib.ExitStack() as stack:
        server = Server(place, tmp_path)
        stack.callback(server.kill)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
        engine = sqlalchemy.create_engine(place)
        stack.callback(engine.dispose)
        for part in (0.1, 0.6):
            pushing = subprocess.Popen(
                command, cwd=store.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            while stored(engine) < part * total:
                assert pushing.poll() is None
                time.sleep(0.01)
            server.kill()
            output, _ = pushing.communicate(timeout=120)
            assert pushing.returncode == 1 and b"MLflow error: " in output, output
            assert stored(engine) < total
            server.start()
        for _ in range(2):
            done = subprocess.run(command, cwd=store.parent, capture_output=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            assert content(server.uri) == here
        assert done.stdout.count(b"nothing to do") == len(here["runs"])


def stored(engine: sqlalchemy.Engine) -> int:
    with engine.connect() as connection:
        return connection.scalar(sqlalchemy.text("select count(*) from metrics"))


@pytest.mark.parametrize(
    "theirs", [("40.0", "scenes"), ("20.0", "gopro"), ("20.0", "scenes")], ids=str
)
def test_a_champion_of_others_stays_unless_it_is_worse_on_the_same_data(
    store, uri, monkeypatch, theirs
):
    team = client(uri)
    run = team.create_run(team.create_experiment("theirs")).info.run_id
    tags = dict(zip(("validation/selection", "dataset"), theirs, strict=True))
    register(team, run, "idemnet-deblur", tags)
    assert push(uri, store, monkeypatch).exit_code == 0
    best = team.get_model_version_by_alias("idemnet-deblur", "champion")
    assert (best.run_id != run) == (theirs == ("20.0", "scenes"))


def test_a_run_that_cannot_be_pushed_hides_no_other(store, uri, monkeypatch):
    [bad] = [run for run in runs(sqlite_uri(store)) if run.info.status == "FAILED"]
    real = pushing._copy
    secret = "API request to http://me:hunter2@host failed\nbadly"

    def copy(store, local, target, run, places):
        if run.info.run_id == bad.info.run_id:
            raise RuntimeError(secret)
        return real(store, local, target, run, places)

    monkeypatch.setattr(pushing, "_copy", copy)
    said = push(uri, store, monkeypatch)
    assert said.exit_code == 1
    assert said.output.count(": pushed") == 2
    assert "first: MLflow error: API request to http://host failed badly\n" in said.output


def test_one_process_pushes_at_a_time(store, uri):
    with (
        FileLock(store.parent / ".mlflow.db.push"),
        pytest.raises(BadInputError, match="another process is pushing"),
    ):
        list(pushing.push(store, uri))
    assert runs(uri) == []


def test_without_another_store_nothing_is_pushed(store, tmp_path, monkeypatch):
    for nowhere in ("", sqlite_uri(store)):
        said = push(nowhere, store, monkeypatch)
        assert said.exit_code == 2
        assert "MLFLOW_TRACKING_URI must name the store to push to" in said.output
    said = push("http://127.0.0.1:1", tmp_path / "mlflow.db", monkeypatch)
    assert said.exit_code == 1
    assert "mlflow.db: no runs are tracked here yet" in said.output
