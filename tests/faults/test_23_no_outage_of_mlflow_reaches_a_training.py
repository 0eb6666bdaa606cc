"""No outage of MLflow changes a training, costs it ten seconds, or loses or doubles a metric."""

import contextlib
import itertools
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest

from idemnet.tracking import run as mlflow_run
from idemnet.tracking import store as mlflow_store
from idemnet.tracking.journal import read_journal
from idemnet.tracking.store import Uploader, upload

from ..conftest import Project
from ..tracking.outages import (
    STEPS,
    Server,
    artifacts,
    assert_whole,
    broken,
    client,
    closed,
    replay,
    runs,
    silent,
    started,
    train,
)

pytestmark = pytest.mark.usefixtures("patience")

TRAIN = ("kedro", "run", "--pipeline=train_deblur", "--tags=train")
WEIGHTS = "data/06_models/deblur/builtin/weights.safetensors"


@pytest.fixture
def ready(prepared, make_project) -> Project:
    """A project in which there is nothing left to do but to train."""
    project = make_project("ready")
    shutil.copytree(prepared.folder / "data", project.folder / "data")
    return project


def journal_of(project: Project):
    [journal] = project.folder.glob("data/06_models/runs/deblur/builtin/*/journal")
    return journal


def logged(folder) -> Counter:
    """Count what was logged, by key and step."""
    lines = read_journal(folder)
    return Counter((key, line["step"]) for line in lines for key in line.get("values", {}))


def stored(database) -> Counter:
    """Count the same in MLflow's own tables; scores of the end have no step of their own."""
    with contextlib.closing(sqlite3.connect(database)) as store:
        found = store.execute("select key, step from metrics").fetchall()
    return Counter((key, step) for key, step in found if not key.startswith("final/"))


def test_a_server_that_never_answers_changes_no_byte(ready, trained, database, monkeypatch):
    with silent() as nobody:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", nobody)
        output = ready.run(*TRAIN).stdout
    assert "idemnet track replay" in output
    assert (ready.folder / WEIGHTS).read_bytes() == (trained.folder / WEIGHTS).read_bytes()
    whole = logged(journal_of(ready))
    assert whole == logged(journal_of(trained))
    assert set(whole.values()) == {1}
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    for _ in range(2):
        replay(ready.folder)
        assert stored(database) == whole


@pytest.mark.slow
def test_no_outage_costs_a_training_ten_seconds(make_project, prepared, trained, monkeypatch):
    """The time of a run with MLflow up is taken in between, as machines are busy at times."""

    def seconds(name: str, uri: str) -> float:
        project = make_project(name)
        shutil.copytree(prepared.folder / "data", project.folder / "data")
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        begun = time.monotonic()
        project.run(*TRAIN)
        took = time.monotonic() - begun
        assert (project.folder / WEIGHTS).read_bytes() == (trained.folder / WEIGHTS).read_bytes()
        assert logged(journal_of(project)) == logged(journal_of(trained))
        return took

    for outage in (closed, silent, broken):
        up = seconds(f"up before {outage.__name__}", f"sqlite:///{trained.folder}/mlflow.db")
        with outage() as nobody:
            assert seconds(outage.__name__, nobody) < up + 10


@pytest.mark.slow
def test_a_server_killed_while_training_has_everything_once_after_a_replay(
    ready, make_project, database, monkeypatch
):
    """Killed at a step of a training that goes on for long, and started again when that is over."""
    command = (*TRAIN, "--params=deblur.train.epochs=300")
    alone = make_project("alone")
    shutil.copytree(ready.folder / "data", alone.folder / "data")
    begun = time.monotonic()
    alone.run(*command)
    up = time.monotonic() - begun
    server = Server(database)
    try:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
        begun = time.monotonic()
        running = ready.start(*command)
        while running.poll() is None and not stored(database):
            time.sleep(0.1)
        server.kill()
        output, _ = running.communicate(timeout=600)
        assert running.returncode == 0, output
        assert time.monotonic() - begun < up + 10
        assert (ready.folder / WEIGHTS).read_bytes() == (alone.folder / WEIGHTS).read_bytes()
        whole = logged(journal_of(ready))
        assert set(whole.values()) == {1}
        assert 0 < len(stored(database)) < len(whole)
        server.start()
        ready.run("idemnet", "track", "replay")
        assert stored(database) == whole
    finally:
        with contextlib.suppress(ProcessLookupError):
            server.kill()


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


def test_killed_after_any_call_and_run_again_nothing_is_there_twice(uri, tmp_path, monkeypatch):
    monkeypatch.setattr(mlflow_store, "LINES_AT_ONCE", 2)
    monkeypatch.setattr(mlflow_run, "METRICS_AT_ONCE", 3)
    real = mlflow_store._connect
    for calls in itertools.count(1):
        experiment = f"killed after {calls}"
        journal = started(tmp_path / experiment)
        for step in range(4):
            journal.log(step, {"loss": step, "rate": 1 / 3})
        journal.image(3, "restored", np.zeros((4, 4, 3), np.uint8))
        journal.finish({"validation/psnr": 1}, {})
        monkeypatch.setattr(mlflow_store, "_connect", lambda uri, n=calls: Dies(real(uri), n))
        try:
            upload(journal.folder, uri, experiment)
        except KeyboardInterrupt:
            monkeypatch.setattr(mlflow_store, "_connect", real)
            upload(journal.folder, uri, experiment)
            place = client(uri).get_experiment_by_name(experiment).experiment_id
            [run] = client(uri).search_runs([place])
            for key, count in {"loss": 4, "rate": 4, "final/validation/psnr": 1}.items():
                assert len(client(uri).get_metric_history(run.info.run_id, key)) == count
            assert len(artifacts(uri, run.info.run_id, "images")) == 2
            assert run.info.status == "FINISHED"
        else:
            break
    assert calls > 10


def test_a_process_killed_in_the_middle_is_continued(uri, tmp_path):
    journal = started(tmp_path / "journal")
    for step in range(400):
        journal.log(step, {"loss": step})
    code = (
        "import sys; from pathlib import Path\n"
        "from idemnet.tracking import store\n"
        "store.LINES_AT_ONCE = 1\n"
        "store.upload(Path(sys.argv[1]), sys.argv[2], 'idemnet')"
    )
    mlflow_store.Progress(journal.folder).aim(uri, "idemnet")
    process = subprocess.Popen([sys.executable, "-c", code, str(journal.folder), uri])
    while mlflow_store.Progress(journal.folder).at(uri)[1] < 1000:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert replay(tmp_path).startswith("journal: copied ")
    assert_whole(uri, journal.folder)
    assert replay(tmp_path) == "journal: nothing to do\n"


@pytest.mark.parametrize("outage", [closed, silent, broken])
def test_an_outage_costs_ten_seconds_and_no_metric(outage, uri, tmp_path, caplog, monkeypatch):
    folder = tmp_path / "journal"
    with outage() as nobody:
        assert train(folder, nobody) < 10
        warnings = [record.message for record in caplog.records if record.levelno >= 30]
    assert len(warnings) == 2
    assert "the run goes on" in warnings[0]
    assert "idemnet track replay" in warnings[1]
    assert len(read_journal(folder)) == 1 + 2 * STEPS
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert replay(tmp_path) == f"journal: copied {1 + 2 * STEPS} lines\n"
    assert_whole(uri, folder)


@pytest.mark.slow
def test_a_server_killed_midway_and_started_again_has_everything_once(database, tmp_path, caplog):
    server = Server(database)
    folder = tmp_path / "journal"
    try:
        train(folder, server.uri, range(10))
        assert not caplog.records
        assert_whole(server.uri, folder)
        journal = started(folder)
        uploader = Uploader(folder, server.uri, "idemnet", interval=0.05)
        uploader.start()
        for step in range(10, STEPS):
            journal.log(step, {"loss": step})
            journal.image(step, "restored", np.full((8, 8, 3), step, np.uint8))
            time.sleep(0.02)
            if step == 30:
                server.kill()
        begin = time.monotonic()
        uploader.close()
        assert time.monotonic() - begin < 9
        assert "idemnet track replay" in caplog.text
        journal.finish({"validation/selection": 30}, {"weights": b"1", "card": b"1"})
        server.start()
        mlflow_store.Progress(folder).aim(server.uri, "idemnet")
        assert "copied" in replay(tmp_path)
        assert_whole(server.uri, folder)
        [run] = runs(server.uri)
        assert run.info.status == "FINISHED"
        assert len(artifacts(server.uri, run.info.run_id, "images")) == 2 * (STEPS - 10)
        version = client(server.uri).get_model_version_by_alias("idemnet-deblur", "champion")
        assert version.tags["validation/selection"] == "30.0"
        assert "MLmodel" in artifacts(server.uri, run.info.run_id, "model")
    finally:
        with contextlib.suppress(ProcessLookupError):
            server.kill()


def test_a_silent_server_does_not_keep_a_process_from_ending(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from idemnet.tracking.tracker import Tracker\n"
        "import mlflow\n"
        "tracker = Tracker(Path(sys.argv[1]), 'deblur', 'scenes', sys.argv[2], 'idemnet')\n"
        "with tracker.run('0' * 64) as journal:\n"
        "    journal.start('a', {}, {}); journal.log(0, {'loss': 1}); print('trained', flush=True)"
    )
    with silent() as nobody:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), nobody],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        )  # fmt: skip
        assert process.stdout.readline() == "trained\n"
        begin = time.monotonic()
        _, said = process.communicate(timeout=30)
    assert time.monotonic() - begin < 10
    assert process.returncode == 0
    assert "idemnet track replay" in said and "Traceback" not in said
