"""A training is recorded in the project's own store, each step once, whatever happens to it."""

import getpass
import json
import os
import pickle
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import types
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from kedro.io import DatasetError

from idemnet.datasets.tracking import OtherRunsDataset
from idemnet.errors import BadInputError
from idemnet.evaluation.metrics import summarise
from idemnet.media.image_files import decode_image
from idemnet.steps.data import Report
from idemnet.tracking.query import find_runs
from idemnet.tracking.run import curves
from idemnet.tracking.store import run_files
from idemnet.tracking.tracker import Tracker
from idemnet.tracking.uri import sqlite_uri, tracking_uri

from ..reporting.example_results import make_evaluation
from .stores import DATA, client, files, history, recorded, runs

pytestmark = pytest.mark.usefixtures("patience")
IMAGE = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)


def test_a_run_has_all_that_belongs_to_it(database, uri, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    begun = time.time_ns() // 1_000_000
    with recorded(database) as run:
        run.log(0, {"loss": 1, "nan": float("nan"), "array": np.float32(0.5)})
        run.image(0, "validation/restored", IMAGE)
        run.tag({"resumed_with": "threads"})
        run.finish({"validation/psnr": 30.5}, {"history.json": b"{}"})
    [run] = runs(uri)
    assert (run.info.run_name, run.info.status) == ("first", "FINISHED")
    assert begun <= run.info.start_time <= run.info.end_time
    assert run.data.params["train.learning_rate"] == "0.0001"
    assert run.data.params["none"] == "null"
    assert run.data.params["train.long"] == "x" * 6000
    assert run.data.tags["long"] == "y" * 8000
    assert run.data.tags["resumed_with"] == "threads"
    assert run.data.metrics["final/validation/psnr"] == 30.5
    assert (run.data.metrics["loss"], run.data.metrics["array"]) == (1, 0.5)
    assert np.isnan(run.data.metrics["nan"])
    assert run.data.tags["mlflow.loggedImages"] == "True"
    small, whole, results = sorted(files(client(uri), run.info.run_id), key=len, reverse=True)
    assert small.startswith("images/validation~restored+step+0+timestamp+")
    assert small.endswith("+compressed.webp") and results == "history.json"
    picture = run_files(database, run.info.run_id) / whole
    assert (decode_image(picture.read_bytes(), picture.name) == IMAGE).all()
    assert run.info.artifact_uri.startswith((tmp_path / "mlruns").as_uri())
    assert not (Path.cwd() / "mlruns").exists()
    kind = client(uri).get_experiment_by_name("idemnet-deblur").tags["mlflow.experimentKind"]
    assert kind == "custom_model_development"


def test_a_resumed_run_starts_once_and_repeats_nothing(database, uri):
    with recorded(database) as run:
        for step in range(6):
            run.log(step, {"loss": step})
        run.log(5, {"validation/psnr": 20})
        run.image(3, "restored", IMAGE)
    [first] = runs(uri)
    with recorded(database) as run:  # killed, and resumed from the checkpoint of step 3
        for step in range(3, 9):
            run.log(step, {"loss": 10 * step})
            run.image(step, "restored", 0 * IMAGE)
        run.log(5, {"validation/psnr": 21, "epoch/loss": 2})
        run.log(9, {"validation/psnr": 22})
    [again] = runs(uri)
    assert again.info.run_id == first.info.run_id
    steps = [(step, step if step < 6 else 10 * step) for step in range(9)]
    assert history(uri, again.info.run_id, "loss") == steps
    assert history(uri, again.info.run_id, "validation/psnr") == [(5, 20), (9, 22)]
    assert history(uri, again.info.run_id, "epoch/loss") == [(5, 2)]
    assert len(files(client(uri), again.info.run_id)) == 2 * 6
    [picture] = run_files(database, again.info.run_id).glob("images/*+step+3+*.png")
    assert (decode_image(picture.read_bytes(), picture.name) == IMAGE).all()


def test_hours_of_a_training_leave_out_its_pauses(database):
    tracker = Tracker(database, "deblur", "scenes")
    assert tracker.hours("0" * 64) is None
    for speeds in ({10: 2.0, 20: 4.0}, {30: 1.0}):  # samples per second; between them hours
        with tracker.run("0" * 64) as run:
            run.start("first", {"train": {"batch_size": 4}}, {})
            for step, speed in speeds.items():
                run.log(step, {"step/samples_per_second": speed})
    assert tracker.hours("0" * 64) == pytest.approx((20 + 10 + 40) / 3600)


def test_half_an_image_is_made_whole(database, uri):
    with recorded(database) as run:
        run.image(3, "restored", IMAGE)
    [found] = runs(uri)
    [small] = run_files(database, found.info.run_id).glob("images/*.webp")
    small.unlink()
    with recorded(database) as run:
        run.image(3, "restored", IMAGE)
    assert len(files(client(uri), found.info.run_id)) == 2


TRAIN = """
import itertools, sys
from pathlib import Path
from idemnet.tracking.tracker import Tracker
with Tracker(Path(sys.argv[1]), "deblur", "scenes").run("0" * 64) as run:
    run.start("a", {"train": {}}, {})
    for step in itertools.count(int(sys.argv[2])):
        run.log(step, {"loss": step})
        if step % 5 == 0:
            run.flush()
            print(step, flush=True)  # a checkpoint
"""


def test_killed_at_any_point_and_resumed_no_step_is_missing_or_twice(database, uri):
    saved = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", TRAIN, str(database), str(saved + 1)],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        for _ in range(20):
            saved = int(process.stdout.readline())
        process.kill()
        process.communicate()
    [run] = runs(uri)
    found = history(uri, run.info.run_id, "loss")
    assert found == [(step, step) for step in range(1, len(found) + 1)]
    assert len(found) >= saved
    assert run.info.status == "RUNNING"


def test_a_failed_run_says_why_and_a_resumed_one_that_it_was(database, uri):
    with pytest.raises(ValueError, match="no"), recorded(database):
        raise ValueError("no http://me:hunter2@host")
    [run] = runs(uri)
    assert (run.info.status, run.data.tags["failure"]) == ("FAILED", "ValueError: no http://host")
    with recorded(database) as again:
        again.flush()
        assert runs(uri)[0].info.status == "RUNNING"
        again.finish({}, {})
        again.fail("too late")
    with recorded(database) as again:
        again.finish({"anything": 1}, {})
    [run] = runs(uri)
    assert (run.info.status, run.data.metrics) == ("FINISHED", {})
    assert run.data.tags["failure"] == "resumed after: ValueError: no http://host"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143)])
def test_a_run_that_somebody_stopped_was_killed(database, uri, error):
    with pytest.raises(type(error)), recorded(database):
        raise error
    assert [run.info.status for run in runs(uri)] == ["KILLED"]


def test_of_an_untouched_run_nothing_is_stored(tmp_path):
    store = tmp_path / "mlflow.db"
    with pytest.raises(ValueError, match="early"), Tracker(store, "deblur", "scenes").run("0"):
        raise ValueError("early")
    assert not store.exists()


@pytest.fixture
def tracker(database) -> Tracker:
    return Tracker(database, "deblur", "scenes")


def test_a_run_says_what_only_the_outside_knows(tracker, uri, monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["/any/bin/kedro", "run", "--params=u=http://me:hunter2@host/x?k=v"]
    )
    with pickle.loads(pickle.dumps(tracker)).run("0123456789abcdef0123") as run:
        run.start("first", {}, {"data": "f00d"})
    [run] = runs(uri)
    tags = run.data.tags
    assert tags["task"] == "deblur" and tags["dataset"] == "scenes" and tags["data"] == "f00d"
    assert {"host", "version.torch", "version.idemnet", "version.python"} <= tags.keys()
    assert tags["mlflow.source.name"] == "kedro run '--params=u=http://host/x'"
    assert tags["mlflow.user"] == getpass.getuser()


def test_a_run_without_git_is_a_run(tracker, uri, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with recorded(tracker.store):
        pass
    assert "mlflow.source.git.commit" not in runs(uri)[0].data.tags


def test_a_run_names_its_commit_and_its_data(tracker, uri):
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"]):
        who = ["-c", "user.name=me", "-c", "user.email=me@here"]
        subprocess.run(["git", "-C", tracker.store.parent, *who, *command], check=True)
    for _ in range(2):  # twice, as after a kill
        with recorded(tracker.store):
            pass
    [run] = runs(uri)
    commit = run.data.tags["mlflow.source.git.commit"]
    assert re.fullmatch("[0-9a-f]{40}", commit)
    assert run.data.tags["mlflow.source.git.dirty"] == "true"
    [found] = run.inputs.dataset_inputs
    assert (found.dataset.name, found.dataset.digest) == ("scenes", DATA["data_fingerprint"][:16])
    assert json.loads(found.dataset.source)["tags"]["mlflow.source.git.commit"] == commit
    assert [(tag.key, tag.value) for tag in found.tags] == [("mlflow.data.context", "training")]


def test_the_load_of_the_machine_is_recorded_if_mlflow_is_told_to(database, uri, monkeypatch):
    monkeypatch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "true")
    monkeypatch.setenv("MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", "0.1")
    key = "system/cpu_utilization_percentage"
    for done in (1, 2):  # begun, and resumed
        with recorded(database) as run:
            run.flush()
            [found] = runs(uri)
            known = len(history(uri, found.info.run_id, key))
            while len(history(uri, found.info.run_id, key)) < known + done:
                time.sleep(0.05)
    steps, values = zip(*history(uri, found.info.run_id, key), strict=True)
    assert steps == tuple(range(len(steps)))
    assert all(0 <= value <= 100 for value in values)


def test_scores_of_other_trainings_are_data_of_a_step(tracker, tmp_path):
    """The dataset leaves out the training of the weights, else a report would change itself."""
    for run, psnr in (("a" * 64, 30.0), ("b" * 64, 31.0)):
        with tracker.run(run) as journal:
            journal.start("run", {}, {})
            journal.finish({}, {})
        tracker.evaluated(report(run, psnr))
    weights = tmp_path / "06_models/deblur/scenes"
    weights.mkdir(parents=True)
    (weights / "card.json").write_text(json.dumps({"fingerprint": "a" * 64}))
    dataset = OtherRunsDataset(str(tracker.store), {"filepath": str(weights)})
    assert dataset.load().fingerprint == f"report of {'b' * 64}"
    with pytest.raises(DatasetError, match="nothing to save"):
        dataset.save("anything")
    tracker.store.unlink()
    assert not dataset.exists()
    assert dataset.load().fingerprint == ""


def report(run: str, psnr: float) -> Report:
    metrics = summarise(make_evaluation(samples=0))
    curve = metrics.repeat.model_copy(update={"psnr": [psnr, psnr - 1]})
    metrics = metrics.model_copy(update={"repeat": curve})
    pages = {"report.html": lambda: b"<p>", "plots/a.svg": lambda: b"<svg/>"}
    return Report(f"report of {run}", run, metrics, pages)


def test_a_report_reaches_a_run_that_has_finished_and_only_once(tracker, uri):
    with recorded(tracker.store) as run:
        run.finish({}, {})
    for _ in range(2):
        tracker.evaluated(report("0" * 64, 27.0))
    [found] = find_runs(uri, ["first"])
    assert found.status == "FINISHED"
    assert found.curves["test/repeat/psnr"] == [(1, 27.0), (2, 26.0)]
    assert found.tags["protocol"] == "gopro"
    assert [one.id for one in find_runs(uri, ["task=deblur", found.id[:6]])] == [found.id]
    pages = {name for name in files(client(uri), found.id) if name.startswith("report/")}
    assert pages == {"report/report.html", "report/plots/a.svg"}
    other = report("0" * 64, 28.0)
    tracker.evaluated(Report("another", *list(vars(other).values())[1:]))
    assert history(uri, found.id, "test/repeat/psnr") == [(1, 27), (2, 26), (1, 28), (2, 27)]
    assert find_runs(uri, ["first"])[0].metrics["test/repeat/psnr"] == 27


def test_the_tracker_gives_the_figures_of_other_trainings(tracker):
    for run, psnr in (("a" * 64, 30.0), ("b" * 64, 31.0)):
        with tracker.run(run) as journal:
            journal.start(f"run-{run[0]}", {"train": {"passes": 2, "model": "dmphn"}}, {})
            journal.finish({}, {})
        tracker.evaluated(report(run, psnr))
    tracker.evaluated(report("c" * 64, 32.0))  # weights that came from elsewhere
    [other] = tracker.evaluations(except_for="a" * 64)
    assert other == {
        "fingerprint": f"report of {'b' * 64}",
        "name": "run-b",
        "parameters": {"train.passes": 2, "train.model": "dmphn"},
        "metrics": report("b" * 64, 31.0).metrics,
    }
    assert len(tracker.evaluations(except_for="c" * 64)) == 2
    [run] = [one for one in runs(sqlite_uri(tracker.store)) if one.info.run_name == "run-b"]
    [path] = run_files(tracker.store, run.info.run_id).rglob("evaluation.json")
    path.write_text('{"psnr": 30.0}')  # measured by another version of idemnet
    assert tracker.evaluations(except_for="a" * 64) == []
    assert Tracker(tracker.store, "deblur", "gopro").evaluations(except_for="a" * 64) == []


def test_figures_that_differ_by_a_number_become_curves():
    figures = {
        "task": "deblur",
        "images": 48,
        "levels": {"5": {"psnr": 30.0}, "11": {"psnr": 26.0}},
        "repeat": {"chain": "float", "psnr": [27.0, 26.5]},
    }
    assert list(curves(figures, "test")) == [
        ("test/images", 0, 48.0),
        ("test/levels/psnr", 5, 30.0),
        ("test/levels/psnr", 11, 26.0),
        ("test/repeat/psnr", 1, 27.0),
        ("test/repeat/psnr", 2, 26.5),
    ]


@pytest.mark.parametrize("name", ["with space", "a#b", "50%", "%20", "a?b", "näme", "a@b"])
def test_the_store_may_lie_in_any_folder(tables, tmp_path, name):
    root = tmp_path / name
    root.mkdir()
    store = Path(shutil.copy(tables, root))
    with recorded(store) as run:
        run.log(0, {"loss": 1})
        run.image(0, "restored", IMAGE)
        run.finish({}, {"weights": b"1"})
    [found] = runs(sqlite_uri(store))
    assert history(sqlite_uri(store), found.info.run_id, "loss") == [(0, 1)]
    assert (run_files(store, found.info.run_id) / "weights").read_bytes() == b"1"
    assert len(list(root.glob("mlruns/*/artifacts/images/*"))) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


def test_a_database_killed_while_it_is_made_is_not_there(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", TRAIN, str(tmp_path / "mlflow.db"), "0"])
    while not list(tmp_path.glob(".mlflow.*/mlflow.db")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "mlflow.db").exists()


def test_the_environment_says_where_runs_are_looked_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tracking_uri() == f"sqlite:///{tmp_path}/mlflow.db"
    with pytest.raises(BadInputError, match="no runs are tracked here yet"):
        find_runs(tracking_uri(), ["a"])
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://other")
    assert tracking_uri() == "http://other"


RECORD = """
import sys
from pathlib import Path
import numpy as np
from idemnet.tracking.tracker import Tracker
for fingerprint in ("0" * 64, "1" * 64):
    with Tracker(Path(sys.argv[1]), "deblur", "scenes").run(fingerprint) as run:
        run.start("again", {}, {})
        run.image(1, "restored", np.zeros((4, 4, 3), np.uint8))
"""


@pytest.mark.parametrize("relocate", [shutil.copytree, os.rename])
def test_a_store_that_was_copied_or_moved_writes_beside_itself(tables, tmp_path, relocate):
    before, after = tmp_path / "before", tmp_path / "after #2"
    for place in (before, tmp_path / "chosen" / "mlruns"):
        place.mkdir(parents=True)
    store = Path(shutil.copy(tables, before))
    with recorded(store) as run:
        run.image(0, "restored", IMAGE)
    chosen = (tmp_path / "chosen" / "mlruns").as_uri()
    client(sqlite_uri(store)).create_experiment("elsewhere", artifact_location=chosen)
    relocate(before, after)
    kept = sorted(before.rglob("*"))

    store = after / "mlflow.db"  # in this process, MLflow remembers places
    subprocess.run([sys.executable, "-c", RECORD, str(store)], check=True)
    assert sorted(before.rglob("*")) == kept
    assert len(list(after.glob("mlruns/*/artifacts/images/*"))) == 6
    uri = sqlite_uri(store)
    places = {run.info.artifact_uri.rpartition("/mlruns/")[0] for run in runs(uri)}
    assert places == {after.as_uri()}
    assert client(uri).get_experiment_by_name("elsewhere").artifact_location == chosen


def test_scores_of_older_versions_are_found_under_today_s_names(database, uri):
    with recorded(database) as run:
        run.finish({"validation/psnr": 30}, {})
    [found] = runs(uri)
    client(uri).log_metric(found.info.run_id, "final.validation.gap", 2)
    [found] = find_runs(uri, ["first"])
    assert found.metrics == {"final/validation/psnr": 30, "final/validation/gap": 2}


@pytest.fixture
def network(monkeypatch):
    """Stand in for idemnet.models: one number, the brightness to add."""
    import torch

    class Brighten(torch.nn.Module):
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor, self.offset = factor, torch.nn.Parameter(torch.zeros(1))

        def forward(self, image):
            return image + self.factor * self.offset

    module = types.ModuleType("idemnet.models")
    module.build_network = lambda name, arguments: {"brighten": Brighten}[name](**arguments)
    monkeypatch.setitem(sys.modules, "idemnet.models", module)


def trained(store: Path, number: int, scores: dict[str, float], patches: int = 8, **tags) -> None:
    import torch
    from safetensors.torch import save

    weights = save({"offset": torch.tensor([number / 255])})
    card = json.dumps({"architecture": "brighten", "arguments": {"factor": 1}}).encode()
    with Tracker(store, "deblur", "scenes").run(str(number) * 64) as run:
        run.start("first", {"train": {"validation_patches": patches}}, {**DATA, **tags})
        results = {"weights.safetensors": weights, "card.json": card}
        run.finish({f"validation/{name}": score for name, score in scores.items()}, results)


def champion(uri: str) -> int | None:
    [model] = client(uri).search_registered_models("name = 'idemnet-deblur'")
    return int(model.aliases["champion"]) if model.aliases else None


def test_the_champion_changes_only_for_a_better_one(database, uri, network, monkeypatch):
    from mlflow import pyfunc

    nan = float("nan")
    for number, (score, best) in enumerate([(nan, None), (30, 2), (29, 2), (31, 4), (nan, 4)]):
        trained(database, number, {"selection": score})
        assert champion(uri) == best
    with closing(sqlite3.connect(database)) as store, store:
        store.execute("update runs set status = 'RUNNING'")  # as if killed just before the end
    trained(database, 4, {"selection": nan})
    assert len(client(uri).search_model_versions("name = 'idemnet-deblur'")) == 5
    assert champion(uri) == 4

    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    model = pyfunc.load_model("models:/idemnet-deblur@champion")
    images = np.arange(2 * 3 * 5 * 3, dtype=np.uint8).reshape(2, 3, 5, 3)
    restored = model.predict(images)
    assert restored.dtype == np.uint8
    assert (restored == images + 3).all()
    suffixes = {path.suffix for path in (database.parent / "mlruns").rglob("*")}
    assert suffixes & {".pkl", ".py"} == {".py"}


@pytest.mark.parametrize(
    "other", [{"dataset": "gopro"}, {"data_fingerprint": "f00d" * 16}, {"patches": 4}], ids=str
)
def test_the_champion_stays_for_scores_of_other_validation_data(database, uri, network, other):
    trained(database, 1, {"selection": 20})
    trained(database, 2, {"selection": 40}, **other)
    assert champion(uri) == 1
    trained(database, 3, {"selection": 21})
    assert champion(uri) == 3


def test_the_champion_is_not_chosen_by_its_first_pass_alone(database, uri, network):
    trained(database, 1, {"psnr": 28.0, "psnr_3": 28.0, "selection": 28.0})
    trained(database, 2, {"psnr": 29.0, "psnr_3": 20.0, "selection": 24.5})
    assert champion(uri) == 1
