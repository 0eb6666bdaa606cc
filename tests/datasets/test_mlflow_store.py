"""Every line of a journal reaches MLflow exactly once."""

import json
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest

from idemnet.datasets import mlflow_run, mlflow_store
from idemnet.datasets.journal import JOURNAL, Journal, read_journal
from idemnet.datasets.mlflow_query import find_runs
from idemnet.datasets.mlflow_store import PROGRESS, upload
from idemnet.datasets.mlflow_uri import tracking_uri
from idemnet.datasets.tracking import TrackerDataset
from idemnet.errors import BadInputError

from .mlflow_outages import artifacts, assert_whole, client, runs, started

pytestmark = pytest.mark.usefixtures("patience")


def test_a_run_is_copied_with_all_that_belongs_to_it(uri, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    journal = started(tmp_path / "journal")
    journal.log(0, {"loss": 1, "nan": float("nan")})
    journal.image(0, "validation/restored", np.full((300, 400, 3), 99, np.uint8))
    journal.finish({"validation.psnr": 30.5}, {"history.json": b"{}"})
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
    assert run.data.metrics["final.validation.psnr"] == 30.5
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
        "from idemnet.datasets.mlflow_store import _make_database\n"
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
        journal.finish({"validation.psnr": 3}, {})
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
    module.MODELS = {"brighten": Brighten}
    monkeypatch.setitem(sys.modules, "idemnet.models", module)


def finished(folder: Path, offset: float, psnr: float) -> Path:
    import torch
    from safetensors.torch import save

    weights = save({"offset": torch.tensor([offset])})
    card = json.dumps({"architecture": "brighten", "arguments": {"factor": 1}}).encode()
    journal = started(folder / "journal")
    results = {"weights.safetensors": weights, "card.json": card}
    journal.finish({"validation.psnr": psnr}, results)
    return journal.folder


def test_the_champion_changes_only_for_a_better_one(uri, tmp_path, network, monkeypatch):
    from mlflow import pyfunc

    def champion() -> int | None:
        [model] = client(uri).search_registered_models("name = 'idemnet-deblur'")
        return int(model.aliases["champion"]) if model.aliases else None

    nan = float("nan")
    for number, (psnr, best) in enumerate([(nan, None), (30, 2), (29, 2), (31, 4), (nan, 4)]):
        folder = finished(tmp_path / f"run {number}", number / 255, psnr)
        upload(folder, uri, "idemnet")
        assert champion() == best
    (folder / PROGRESS).unlink()  # as if it had been killed before it could write that down
    upload(folder, uri, "idemnet")
    assert len(client(uri).search_model_versions("name = 'idemnet-deblur'")) == 5
    assert champion() == 4

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
