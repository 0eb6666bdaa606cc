"""Every line of a journal reaches MLflow exactly once, and no outage reaches the training."""

import contextlib
import itertools
import json
import logging
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from idemnet.command_line import main
from idemnet.datasets import mlflow_run, mlflow_store
from idemnet.datasets.journal import JOURNAL, Journal, read_journal
from idemnet.datasets.mlflow_query import find_runs
from idemnet.datasets.mlflow_store import PROGRESS, Uploader, _make_database, upload
from idemnet.datasets.mlflow_uri import explain, tracking_uri
from idemnet.datasets.tracking import TrackerDataset
from idemnet.errors import BadInputError

from .mlflow_outages import Server, broken, closed, silent

STEPS = 50


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """As in the program, but set here, since it would stay for other tests."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for name in ("TIMEOUT", "MAX_RETRIES"):
        monkeypatch.setenv(f"MLFLOW_HTTP_REQUEST_{name}", "x")
        monkeypatch.delenv(f"MLFLOW_HTTP_REQUEST_{name}")
    mlflow_store.configure()


@pytest.fixture(scope="session")
def tables(tmp_path_factory) -> Path:
    """A database with tables and nothing in them: making one takes many seconds."""
    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    _make_database(path)
    return path


@pytest.fixture
def database(tables, tmp_path) -> Path:
    return Path(shutil.copy(tables, tmp_path / "mlflow.db"))


@pytest.fixture
def uri(database) -> str:
    return tracking_uri("", database.parent)


def client(uri: str):
    from mlflow import MlflowClient

    return MlflowClient(uri, uri)


def started(folder: Path, task: str = "deblur") -> Journal:
    journal = Journal(folder)
    parameters = {"train": {"learning_rate": 1e-4, "long": "x" * 9000}, "none": None}
    journal.start("first", parameters, {"task": task, "long": "y" * 9000})
    return journal


def runs(uri: str) -> list:
    experiments = [found.experiment_id for found in client(uri).search_experiments()]
    return list(client(uri).search_runs(experiments))


def assert_whole(uri: str, folder: Path) -> None:
    """One run, and in it exactly the metrics of the journal."""
    [run] = runs(uri)
    wanted: dict[str, list] = {}
    for line in read_journal(folder):
        for key, value in line.get("values", {}).items():
            wanted.setdefault(key, []).append((line["step"], value, line["time"]))
    assert wanted
    for key, values in wanted.items():
        history = client(uri).get_metric_history(run.info.run_id, key)
        assert sorted((point.step, point.value, point.timestamp) for point in history) == values


def replay(root: Path) -> str:
    result = CliRunner().invoke(main, ["track", "replay", "--root", str(root)])
    assert result.exit_code == 0, result.output
    return result.output


def artifacts(uri: str, run: str, folder: str = "") -> list[str]:
    return [Path(found.path).name for found in client(uri).list_artifacts(run, folder)]


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
        journal.finish({"validation.psnr": 1}, {})
        monkeypatch.setattr(mlflow_store, "_connect", lambda uri, n=calls: Dies(real(uri), n))
        try:
            upload(journal.folder, uri, experiment)
        except KeyboardInterrupt:
            monkeypatch.setattr(mlflow_store, "_connect", real)
            upload(journal.folder, uri, experiment)
            place = client(uri).get_experiment_by_name(experiment).experiment_id
            [run] = client(uri).search_runs([place])
            for key, count in {"loss": 4, "rate": 4, "final.validation.psnr": 1}.items():
                assert len(client(uri).get_metric_history(run.info.run_id, key)) == count
            assert len(artifacts(uri, run.info.run_id, "images")) == 2
            assert run.info.status == "FINISHED"
        else:
            break
    assert calls > 10


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


def test_a_process_killed_in_the_middle_is_continued(uri, tmp_path):
    journal = started(tmp_path / "journal")
    for step in range(400):
        journal.log(step, {"loss": step})
    code = (
        "import sys; from pathlib import Path\n"
        "from idemnet.datasets import mlflow_store as store\n"
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


def train(folder: Path, uri: str, steps: range = range(STEPS)) -> float:
    """Log as a training does; return how long it took, from first to last."""
    begin = time.monotonic()
    journal = started(folder)
    uploader = Uploader(folder, uri, "idemnet", interval=0.1)
    uploader.start()
    for step in steps:
        journal.log(step, {"loss": step, "rate": 0.5})
        journal.log(step, {"epoch.loss": step})
        time.sleep(0.02)
    uploader.close()
    return time.monotonic() - begin - 0.02 * len(steps)


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
        journal.finish({"validation.psnr": 30}, {"weights": b"1", "card": b"1"})
        server.start()
        mlflow_store.Progress(folder).aim(server.uri, "idemnet")
        assert "copied" in replay(tmp_path)
        assert_whole(server.uri, folder)
        [run] = runs(server.uri)
        assert run.info.status == "FINISHED"
        assert len(artifacts(server.uri, run.info.run_id, "images")) == 2 * (STEPS - 10)
        version = client(server.uri).get_model_version_by_alias("idemnet-deblur", "champion")
        assert version.tags["validation.psnr"] == "30.0"
        assert "MLmodel" in artifacts(server.uri, run.info.run_id, "model")
    finally:
        with contextlib.suppress(ProcessLookupError):
            server.kill()


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


def test_a_silent_server_does_not_keep_a_process_from_ending(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from idemnet.datasets.tracking import Tracker\n"
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


@pytest.mark.parametrize("outage", [closed, broken])
def test_a_password_is_shown_nowhere(outage, tmp_path, caplog, capfd, monkeypatch):
    caplog.set_level(logging.DEBUG, "idemnet")
    caplog.set_level(logging.WARNING)
    folder = tmp_path / "journal"
    with outage() as nobody:
        secret = nobody.replace("//", "//me:hunter%32@") + "/?token=hunter2"
        train(folder, secret, range(3))
        monkeypatch.setenv("MLFLOW_TRACKING_URI", secret)
        result = CliRunner().invoke(main, ["track", "replay", "--root", str(tmp_path)])
    assert result.exit_code == 1
    assert nobody.removeprefix("http://127.0.0.1") in result.output + caplog.text
    files = "".join(path.read_text() for path in folder.iterdir() if path.is_file())
    shown = "".join([result.output, caplog.text, *capfd.readouterr(), files])
    assert "hunter" not in shown and "token" not in shown


def test_a_password_with_odd_letters_is_not_explained():
    error = RuntimeError("postgresql://me:p@ss%2Fw@host/db?sslkey=abc: bad password 'p@ss/w'\n(x)")
    said = explain(error, "postgresql://me:p@ss%2Fw@host/db?sslkey=abc")
    assert "ss" not in said.replace("password", "").replace("postgres", "")
    assert said.startswith("postgresql://host/db")
    assert "\n" not in said


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
