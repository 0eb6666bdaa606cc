"""Every line of a journal reaches MLflow exactly once."""

import json
import os
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest

from idemnet.datasets.tracking import TrackerDataset
from idemnet.errors import BadInputError
from idemnet.tracking import run as mlflow_run
from idemnet.tracking import store as mlflow_store
from idemnet.tracking.journal import INTERRUPTED, JOURNAL, Journal, read_journal
from idemnet.tracking.query import find_runs
from idemnet.tracking.store import PROGRESS, upload
from idemnet.tracking.uri import tracking_uri

from ..conftest import BIN
from .outages import artifacts, assert_whole, client, runs, started

pytestmark = pytest.mark.usefixtures("patience")


def test_a_run_is_copied_with_all_that_belongs_to_it(uri, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    journal = started(tmp_path / "journal")
    journal.log(0, {"loss": 1, "nan": float("nan")})
    journal.image(0, "validation/restored", np.full((300, 400, 3), 99, np.uint8))
    journal.finish({"validation/psnr": 30.5}, {"history.json": b"{}"})
    assert upload(journal.folder, uri, "deblurring") == 4
    assert upload(journal.folder, uri, "deblurring") == 0
    [run] = runs(uri)
    lines = read_journal(journal.folder)
    assert (run.info.run_name, run.info.status) == ("first", "FINISHED")
    assert (run.info.start_time, run.info.end_time) == (lines[0]["time"], lines[-1]["time"])
    assert run.data.params["train.learning_rate"] == "0.0001"
    assert run.data.params["none"] == "null"
    assert run.data.params["train.long"] == "x" * 6000
    assert run.data.tags["long"] == "y" * 8000
    assert run.data.metrics["final/validation/psnr"] == 30.5
    assert np.isnan(run.data.metrics["nan"])
    assert artifacts(uri, run.info.run_id) == ["history.json", "images"]
    small, whole = sorted(artifacts(uri, run.info.run_id, "images"))
    assert small.startswith(f"validation~restored+step+0+timestamp+{lines[2]['time']}+")
    assert small.endswith("+compressed.webp") and whole.endswith(".png")
    assert run.data.tags["mlflow.loggedImages"] == "True"
    assert run.info.artifact_uri.startswith((tmp_path / "mlruns").as_uri())
    assert not (Path.cwd() / "mlruns").exists()


def test_nothing_is_told_of_an_untouched_journal(uri, tmp_path):
    assert upload(tmp_path / "nowhere", uri, "idemnet") == 0
    assert runs(uri) == []


def test_a_failed_run_says_why_and_a_resumed_one_that_it_was(uri, tmp_path):
    started(tmp_path / "journal").fail("ValueError: no")
    upload(tmp_path / "journal", uri, "idemnet")
    [run] = runs(uri)
    assert (run.info.status, run.data.tags["failure"]) == ("FAILED", "ValueError: no")
    journal = started(tmp_path / "journal")
    upload(tmp_path / "journal", uri, "idemnet")
    assert runs(uri)[0].info.status == "RUNNING"
    journal.finish({}, {})
    upload(tmp_path / "journal", uri, "idemnet")
    [run] = runs(uri)
    assert run.info.status == "FINISHED"
    assert run.data.tags["failure"] == "resumed after: ValueError: no"


def test_a_store_never_seen_is_told_everything_and_one_seen_is_recognised(uri, tables, tmp_path):
    journal = started(tmp_path / "journal")
    journal.log(0, {"loss": 1})
    (tmp_path / "other").mkdir()
    other = f"sqlite:///{shutil.copy(tables, tmp_path / 'other')}"
    assert [upload(journal.folder, place, "idemnet") for place in (uri, other, uri)] == [2, 2, 0]
    (journal.folder / PROGRESS).write_text("{torn")
    assert upload(journal.folder, uri, "idemnet") == 2
    assert_whole(uri, journal.folder)
    assert_whole(other, journal.folder)


def test_a_database_killed_while_it_is_made_is_not_there(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from idemnet.tracking.store import _make_database\n"
        "_make_database(Path(sys.argv[1]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "mlflow.db")])
    while not list(tmp_path.glob(".mlflow.*/mlflow.db")):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not (tmp_path / "mlflow.db").exists()


@pytest.mark.parametrize("name", ["with space", "a#b", "50%", "%20", "a?b", "näme", "a@b"])
def test_the_database_may_lie_in_any_folder(tables, tmp_path, name):
    root = tmp_path / name
    root.mkdir()
    shutil.copy(tables, root)
    journal = started(root / "journal")
    journal.log(0, {"loss": 1})
    journal.image(0, "restored", np.zeros((4, 4, 3), np.uint8))
    uri = tracking_uri("", root)
    upload(journal.folder, uri, "idemnet")
    assert_whole(uri, journal.folder)
    assert len(list(root.glob("mlruns/*/artifacts/images/*"))) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


def test_the_environment_wins_over_what_is_configured(tmp_path, monkeypatch):
    assert tracking_uri("", tmp_path) == f"sqlite:///{tmp_path}/mlflow.db"
    assert tracking_uri("http://lab", tmp_path) == "http://lab"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://other")
    assert tracking_uri("http://lab", tmp_path) == "http://other"


def test_a_tracked_run_is_in_the_database_of_its_project(database, tmp_path, caplog):
    (tmp_path / "pyproject.toml").write_text(
        "[tool.kedro]\npackage_name='a'\nproject_name='a'\nkedro_init_version='1'"
    )
    runs_folder = tmp_path / "data" / "runs" / "deblur"
    tracker = TrackerDataset(str(runs_folder), {"deblur": "scenes"}, "", "deblurring").load()
    with tracker.run("0" * 64):
        pass
    assert runs(tracking_uri("", tmp_path)) == []
    with pytest.raises(KeyError), tracker.run("0" * 64) as journal:
        journal.start("first", {}, {})
        journal.log(0, {"loss": 1})
        raise KeyError("why")
    [run] = runs(tracking_uri("", tmp_path))
    assert (run.info.status, run.data.tags["failure"]) == ("FAILED", "KeyError: 'why'")
    with tracker.run("0" * 64) as journal:
        journal.start("first", {}, {})
        journal.log(0, {"loss": 1})
        journal.log(1, {"loss": 2})
        journal.finish({"validation/psnr": 3}, {})
    [run] = runs(tracking_uri("", tmp_path))
    assert run.info.status == "FINISHED"
    assert_whole(tracking_uri("", tmp_path), journal.folder)
    assert not caplog.records


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


def finished(folder: Path, offset: float, scores: dict[str, float], **start) -> Path:
    import torch
    from safetensors.torch import save

    weights = save({"offset": torch.tensor([offset])})
    card = json.dumps({"architecture": "brighten", "arguments": {"factor": 1}}).encode()
    journal = started(folder / "journal", **start)
    results = {"weights.safetensors": weights, "card.json": card}
    journal.finish({f"validation/{name}": score for name, score in scores.items()}, results)
    return journal.folder


def champion(uri: str) -> int | None:
    [model] = client(uri).search_registered_models("name = 'idemnet-deblur'")
    return int(model.aliases["champion"]) if model.aliases else None


def test_the_champion_changes_only_for_a_better_one(uri, tmp_path, network, monkeypatch):
    from mlflow import pyfunc

    nan = float("nan")
    for number, (score, best) in enumerate([(nan, None), (30, 2), (29, 2), (31, 4), (nan, 4)]):
        folder = finished(tmp_path / f"run {number}", number / 255, {"selection": score})
        upload(folder, uri, "idemnet")
        assert champion(uri) == best
    (folder / PROGRESS).unlink()  # as if it had been killed before it could write that down
    upload(folder, uri, "idemnet")
    assert len(client(uri).search_model_versions("name = 'idemnet-deblur'")) == 5
    assert champion(uri) == 4

    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    model = pyfunc.load_model("models:/idemnet-deblur@champion")
    images = np.arange(2 * 3 * 5 * 3, dtype=np.uint8).reshape(2, 3, 5, 3)
    restored = model.predict(images)
    assert restored.dtype == np.uint8
    assert (restored == images + 3).all()
    [stored] = {
        path.suffix for path in (tmp_path / "mlruns").rglob("*") if path.suffix in (".pkl", ".py")
    }
    assert stored == ".py"


@pytest.mark.parametrize(
    "other", [{"dataset": "gopro"}, {"data_fingerprint": "f00d" * 16}, {"patches": 4}], ids=str
)
def test_the_champion_stays_for_scores_of_other_validation_data(uri, tmp_path, network, other):
    upload(finished(tmp_path / "best", 0, {"selection": 20}), uri, "idemnet")
    upload(finished(tmp_path / "other", 0, {"selection": 40}, **other), uri, "idemnet")
    assert champion(uri) == 1
    upload(finished(tmp_path / "better", 0, {"selection": 21}), uri, "idemnet")
    assert champion(uri) == 3


def test_the_champion_is_not_chosen_by_its_first_pass_alone(uri, tmp_path, network):
    steady = {"psnr": 28.0, "psnr_3": 28.0, "selection": 28.0}
    unsteady = {"psnr": 29.0, "psnr_3": 20.0, "selection": 24.5}
    for name, scores in (("steady", steady), ("unsteady", unsteady)):
        upload(finished(tmp_path / name, 0, scores), uri, "idemnet")
    assert champion(uri) == 1


def test_experiments_are_of_model_training(uri, tmp_path):
    store = client(uri)
    store.create_experiment("made before")
    for name in ("made before", "new"):
        upload(started(tmp_path / name).folder, uri, name)
        tags = store.get_experiment_by_name(name).tags
        assert tags["mlflow.experimentKind"] == "custom_model_development"


def test_a_run_names_its_data(uri, tmp_path):
    tags = {"mlflow.source.git.commit": "c0ffee"}
    folder = started(tmp_path / "journal", **tags).folder
    for _ in range(2):  # twice, as after a kill
        upload(folder, uri, "idemnet")
        (folder / PROGRESS).unlink()
    [run] = runs(uri)
    [found] = run.inputs.dataset_inputs
    assert (found.dataset.name, found.dataset.digest) == ("scenes", ("5eed" * 16)[:16])
    assert json.loads(found.dataset.source) == {"tags": tags}
    assert [(tag.key, tag.value) for tag in found.tags] == [("mlflow.data.context", "training")]


def test_a_run_that_somebody_stopped_was_killed(uri, tmp_path):
    started(tmp_path / "journal").fail(INTERRUPTED)
    upload(tmp_path / "journal", uri, "idemnet")
    assert [run.info.status for run in runs(uri)] == ["KILLED"]


def test_scores_of_older_versions_are_found_under_today_s_names(uri, tmp_path):
    journal = started(tmp_path / "journal")
    journal.finish({"validation.psnr": 30}, {})  # of a journal
    upload(journal.folder, uri, "idemnet-deblur")
    [run] = runs(uri)
    assert run.data.metrics == {"final/validation/psnr": 30}
    client(uri).log_metric(run.info.run_id, "final.validation.gap", 2)  # in MLflow
    [found] = find_runs(uri, ["first"])
    assert found.metrics == {"final/validation/psnr": 30, "final/validation/gap": 2}


@pytest.mark.parametrize("relocate", [shutil.copytree, os.rename])
def test_a_store_that_was_copied_or_moved_writes_beside_itself(tables, tmp_path, relocate):
    before, after = tmp_path / "before", tmp_path / "after #2"
    for place in (before, tmp_path / "chosen"):
        place.mkdir()
    shutil.copy(tables, before)
    journal = started(before / "journal")
    journal.image(0, "restored", np.zeros((4, 4, 3), np.uint8))
    upload(journal.folder, tracking_uri("", before), "idemnet")
    chosen = (tmp_path / "chosen" / "mlruns").as_uri()
    client(tracking_uri("", before)).create_experiment("elsewhere", artifact_location=chosen)
    (tmp_path / "chosen" / "mlruns").mkdir()
    relocate(before, after)
    files = sorted(before.rglob("*"))

    Journal(after / "journal").image(1, "restored", np.zeros((4, 4, 3), np.uint8))
    started(after / "second")
    replay = [BIN / "idemnet", "track", "replay", "--root", after]
    subprocess.run(replay, cwd=after, check=True)  # in this process, MLflow remembers places
    assert sorted(before.rglob("*")) == files
    assert len(list(after.glob("mlruns/*/artifacts/images/*"))) == 4
    uri = tracking_uri("", after)
    places = {run.info.artifact_uri.rpartition("/mlruns/")[0] for run in runs(uri)}
    assert places == {after.as_uri()}
    assert client(uri).get_experiment_by_name("elsewhere").artifact_location == chosen


def test_a_journal_is_copied_by_one_at_a_time(uri, tmp_path):
    journal = started(tmp_path / "journal")
    with (
        mlflow_store._alone(journal.folder),
        pytest.raises(ValueError, match="another process is copying"),
    ):
        upload(journal.folder, uri, "idemnet")
    assert (journal.folder / JOURNAL).exists()


def test_figures_that_differ_by_a_number_become_curves():
    figures = {
        "task": "deblur",
        "images": 48,
        "levels": {"5": {"psnr": 30.0}, "11": {"psnr": 26.0}},
        "repeat": {"chain": "float", "psnr": [27.0, 26.5]},
    }
    assert list(mlflow_run.curves(figures, "test")) == [
        ("test/images", 0, 48.0),
        ("test/levels/psnr", 5, 30.0),
        ("test/levels/psnr", 11, 26.0),
        ("test/repeat/psnr", 1, 27.0),
        ("test/repeat/psnr", 2, 26.5),
    ]


def test_a_report_reaches_a_run_that_has_finished(tmp_path, uri):
    folder = tmp_path / "run"
    journal = Journal(folder)
    journal.start("a", {}, {"task": "deblur"})
    journal.finish({}, {})
    upload(folder, uri, "idemnet-deblur")
    metrics = {"protocol": "gopro", "repeat": {"psnr": [27.0, 26.5]}}
    journal.evaluated("aa", metrics, {"report.html": b"<p>", "plots/a.svg": b"<svg/>"})
    upload(folder, uri, "idemnet-deblur")
    [found] = find_runs(uri, ["a"])
    assert found.curves == {"test/repeat/psnr": [(1, 27.0), (2, 26.5)]}
    assert found.tags["protocol"] == "gopro"
    assert [one.id for one in find_runs(uri, ["task=deblur", found.id[:6]])] == [found.id]
    files = {file.path for file in client(uri).list_artifacts(found.id, "report")}
    assert files == {"report/report.html", "report/plots"}
    with pytest.raises(BadInputError, match=r"no run is called 'b'.*the latest are: a"):
        find_runs(uri, ["b"])


def test_a_store_that_was_never_made_is_said_to_be_missing(tmp_path):
    with pytest.raises(BadInputError, match="no runs are tracked here yet"):
        find_runs(tracking_uri("", tmp_path), ["a"])
