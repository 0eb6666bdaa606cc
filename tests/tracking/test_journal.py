"""The journal keeps everything, once, whatever happens to the process that writes it."""

import getpass
import json
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

from idemnet.datasets.tracking import TrackerDataset
from idemnet.media.image_files import decode_image
from idemnet.steps.data import Report
from idemnet.tracking.journal import JOURNAL, Journal, read_journal
from idemnet.tracking.store import Progress
from idemnet.tracking.tracker import Tracker

PARAMETERS = {"train": {"learning_rate": 1e-4, "loss": {"weights": [1, 0.1]}}, "seed": 0}


def started(folder) -> Journal:
    journal = Journal(folder)
    journal.start("first", PARAMETERS, {"task": "deblur"})
    return journal


def metrics(folder) -> list[tuple[str, int, float]]:
    return [
        (key, line["step"], value)
        for line in read_journal(folder)
        if line["kind"] == "metrics"
        for key, value in line["values"].items()
    ]


def kinds(folder) -> list[str]:
    return [line["kind"] for line in read_journal(folder)]


def test_parameters_are_flat_and_tags_are_joined(tmp_path):
    Journal(tmp_path, {"host": "here"}).start("a", PARAMETERS, {"task": "deblur"})
    [line] = read_journal(tmp_path)
    assert line["parameters"] == {
        "train.learning_rate": 1e-4, "train.loss.weights": [1, 0.1], "seed": 0,
    }  # fmt: skip
    assert line["tags"] == {"host": "here", "task": "deblur"}


def test_a_resumed_run_starts_once_and_repeats_nothing(tmp_path):
    journal = started(tmp_path)
    for step in range(6):
        journal.log(step, {"loss": step})
    journal.log(5, {"validation/psnr": 20})
    journal = started(tmp_path)  # killed, and goes on from the checkpoint of step 3
    for step in range(3, 9):
        journal.log(step, {"loss": step})
        if step % 4 == 1:
            journal.log(step, {"validation/psnr": 20})
    assert kinds(tmp_path).count("started") == 1
    assert [step for key, step, _ in metrics(tmp_path) if key == "loss"] == list(range(9))
    assert [step for key, step, _ in metrics(tmp_path) if key == "validation/psnr"] == [5]


def test_the_keys_of_a_step_may_come_one_after_another(tmp_path):
    journal = started(tmp_path)
    journal.log(4, {"loss": 1})
    journal.log(4, {"epoch.loss": 2})
    journal.log(4, {"loss": 3, "third": 3})
    assert metrics(tmp_path) == [("loss", 4, 1), ("epoch.loss", 4, 2), ("third", 4, 3)]


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_torn_line_is_cut_off_and_written_again(tmp_path, cut):
    journal = started(tmp_path)
    journal.log(0, {"loss": 0})
    journal.log(1, {"loss": 1})
    path = tmp_path / JOURNAL
    os.truncate(path, path.stat().st_size - cut)
    assert metrics(tmp_path) == [("loss", 0, 0)]
    journal = Journal(tmp_path)
    journal.log(1, {"loss": 1})
    assert metrics(tmp_path) == [("loss", 0, 0), ("loss", 1, 1)]


def test_a_broken_line_costs_only_itself(tmp_path):
    journal = started(tmp_path)
    with (tmp_path / JOURNAL).open("ab") as file:
        file.write(b"\0\0\xff\n")
    journal.log(1, {"loss": 1})
    Journal(tmp_path).log(2, {"loss": 2})
    assert kinds(tmp_path) == ["started", "unreadable", "metrics", "metrics"]


def test_what_is_not_a_number_is_recorded_as_such(tmp_path):
    started(tmp_path).log(0, {"nan": float("nan"), "inf": float("inf"), "array": np.float32(1)})
    (_, _, nan), (_, _, inf), (_, _, one) = metrics(tmp_path)
    assert np.isnan(nan) and inf == float("inf") and one == 1


def test_images_are_kept_once(tmp_path):
    journal = started(tmp_path)
    image = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    journal.image(3, "validation/restored", image)
    Journal(tmp_path).image(3, "validation/restored", 0 * image)
    assert kinds(tmp_path) == ["started", "image"]
    path = tmp_path / "images" / read_journal(tmp_path)[1]["file"]
    assert (decode_image(path.read_bytes(), path.name) == image).all()


def test_results_are_kept_beside_the_journal(tmp_path):
    journal = started(tmp_path / "journal")
    journal.finish({"validation/psnr": 30}, {"weights.safetensors": b"first"})
    assert (tmp_path / "journal/artifacts/weights.safetensors").read_bytes() == b"first"


def test_what_failed_may_go_on_and_what_finished_stays_finished(tmp_path):
    started(tmp_path).fail("ValueError: no")
    journal = started(tmp_path)
    journal.finish({}, {})
    journal.fail("too late")
    Journal(tmp_path).finish({}, {})
    assert kinds(tmp_path) == ["started", "failed", "resumed", "finished"]
    assert read_journal(tmp_path)[2]["after"] == "ValueError: no"
    assert Journal(tmp_path).finished


def test_a_process_killed_at_any_point_loses_no_whole_step(tmp_path):
    code = (
        "import sys, itertools; from pathlib import Path\n"
        "from idemnet.tracking.journal import Journal\n"
        "journal = Journal(Path(sys.argv[1])); journal.start('a', {}, {})\n"
        "for step in itertools.count(): journal.log(step, {'loss': step}); print(step, flush=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    said = [int(process.stdout.readline()) for _ in range(100)][-1]
    process.kill()
    process.communicate()
    Journal(tmp_path).log(10**6, {"loss": 0})
    steps = [step for _, step, _ in metrics(tmp_path)]
    assert steps == [*range(len(steps) - 1), 10**6]
    assert len(steps) > said


@pytest.fixture
def tracker(tmp_path, monkeypatch) -> Tracker:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    monkeypatch.setattr("idemnet.tracking.store.upload", lambda *_: 0)
    return TrackerDataset(str(tmp_path / "deblur"), {"deblur": "scenes"}).load()


def test_the_tracker_says_what_only_the_outside_knows(tracker, monkeypatch):
    monkeypatch.setattr(
        sys, "argv", ["/any/bin/kedro", "run", "--params=u=http://me:hunter2@host/x?k=v"]
    )
    with pickle.loads(pickle.dumps(tracker)).run("0123456789abcdef0123") as journal:
        journal.start("first", {}, {"data": "f00d"})
    [line] = read_journal(tracker.folder / "0123456789abcdef" / "journal")
    tags = line["tags"]
    assert tags["task"] == "deblur" and tags["dataset"] == "scenes" and tags["data"] == "f00d"
    assert {"host", "version.torch", "version.idemnet", "version.python"} <= tags.keys()
    assert tags["mlflow.source.name"] == "kedro run '--params=u=http://host/x'"
    assert tags["mlflow.user"] == getpass.getuser()
    progress = Progress(tracker.folder / "0123456789abcdef" / "journal")
    assert (progress.uri, progress.experiment) == ("http://127.0.0.1:1", "idemnet")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("no http://me:hunter2@host"), "ValueError: no http://host"),
        (KeyboardInterrupt(), "interrupted"),
        (SystemExit(143), "interrupted"),
    ],
)
def test_an_error_inside_is_the_reason_of_failure(tracker, error, reason):
    with pytest.raises(type(error)), tracker.run("0" * 64) as journal:
        journal.start("first", {}, {})
        raise error
    assert read_journal(tracker.folder / ("0" * 16) / "journal")[-1]["reason"] == reason


def test_a_run_without_git_is_a_run(tracker, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with tracker.run("0" * 64) as journal:
        journal.start("first", {}, {})
    assert "source.git" not in json.dumps(read_journal(journal.folder))


def test_a_run_names_its_commit(tracker):
    folder = tracker.folder
    folder.mkdir(parents=True)
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"]):
        who = ["-c", "user.name=me", "-c", "user.email=me@here"]
        subprocess.run(["git", "-C", folder, *who, *command], check=True)
    (folder / "pyproject.toml").write_text(
        "[tool.kedro]\npackage_name='a'\nproject_name='a'\nkedro_init_version='1'"
    )
    with tracker.run("0" * 64) as journal:
        journal.start("first", {}, {})
    tags = read_journal(journal.folder)[0]["tags"]
    assert re.fullmatch("[0-9a-f]{40}", tags["mlflow.source.git.commit"])
    assert tags["mlflow.source.git.dirty"] == "true"


def test_the_load_of_the_machine_is_recorded_if_mlflow_is_told_to(tracker, monkeypatch):
    monkeypatch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", "true")
    monkeypatch.setenv("MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", "1e-9")
    with tracker.run("0" * 64) as journal:
        journal.start("first", {}, {})
        journal.log(10, {"step/total": 1})
    values = {key: value for key, _, value in metrics(journal.folder)}
    assert values["step/total"] == 1
    assert 0 <= values["system/cpu_utilization_percentage"] <= 100
    assert values["system/system_memory_usage_megabytes"] > 0


def test_an_untouched_journal_has_no_line(tracker):
    with pytest.raises(ValueError, match="early"), tracker.run("0" * 64) as journal:
        raise ValueError("early")
    assert read_journal(journal.folder) == []


def test_runs_are_recorded_not_saved(tmp_path):
    dataset = TrackerDataset(
        str(tmp_path / "deblur"), {"deblur": "scenes"}, "http://me:hunter2@host"
    )
    assert "hunter2" not in str(dataset._describe())
    with pytest.raises(Exception, match="nothing to save"):
        dataset.save("anything")


def test_a_report_is_added_once_and_its_run_stays_finished(tmp_path):
    journal = started(tmp_path)
    journal.finish({"validation/psnr": 30}, {})
    for _ in range(2):
        journal.evaluated("aa", {"images": 3}, {"plots/repeat.svg": b"<svg/>"})
    again = Journal(tmp_path)
    again.fail("too late")
    assert kinds(tmp_path) == ["started", "finished", "evaluated"]
    assert again.finished and again.evaluation["metrics"] == {"images": 3}
    assert (tmp_path / "artifacts/plots/repeat.svg").read_bytes() == b"<svg/>"
    again.evaluated("bb", {"images": 4}, {})
    assert Journal(tmp_path).evaluation["fingerprint"] == "bb"


def report(run: str, psnr: float) -> Report:
    return Report(f"report of {run}", run, {"restored": {"psnr": psnr}}, {})


def test_the_tracker_gives_the_figures_of_other_trainings(tracker):
    for run, psnr in (("a" * 64, 30.0), ("b" * 64, 31.0)):
        with tracker.run(run) as journal:
            journal.start(f"run-{run[0]}", {"train": {"times": 2}}, {})
            journal.finish({}, {})
        tracker.evaluated(report(run, psnr))
    tracker.evaluated(report("c" * 64, 32.0))  # weights that came from elsewhere
    [other] = tracker.evaluations(except_for="a" * 64)
    assert other == {
        "fingerprint": f"report of {'b' * 64}",
        "name": "run-b",
        "parameters": {"train.times": 2},
        "metrics": {"restored": {"psnr": 31.0}},
    }
