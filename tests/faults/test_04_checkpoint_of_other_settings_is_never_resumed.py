"""A checkpoint of other parameters or data is never resumed; one of another thread count is."""

import json
import logging
import shutil
import signal
import sqlite3
from dataclasses import replace

import pytest

from idemnet.errors import BadInputError
from idemnet.training.launch import launch

from ..end_to_end.test_train import TRAIN, checkpoints
from ..training.tiny import STEPS, RandomPatches, Record, make_job, run_apart, trained

CHANGES = {
    "learning_rate": ({"learning_rate": 2e-3}, "train.learning_rate = 0.001 there, 0.002 here"),
    "data": ({}, "data = 'data' there, 'other data' here"),
}
ENVIRONMENTS = {
    "threads": ({"threads": 2}, "threads 1 -> 2"),
    "processes": ({"processes": 2}, "processes 1 -> 2"),
    "parts of a batch": ({"accumulation_steps": 2}, "accumulation_steps 1 -> 2"),
}


def changed(folder, change: str, patches: RandomPatches):
    job = make_job(folder, patches, **CHANGES[change][0])
    if change == "data":
        job = replace(job, patches=replace(job.patches, fingerprint="other data"))
    return job


@pytest.mark.parametrize("change", CHANGES)
def test_changed_settings_train_beside_what_is_there(tmp_path, change):
    trained(make_job(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.glob("*/*.pt")}
    patches = RandomPatches()
    trained(changed(tmp_path, change, patches))
    assert len(patches.reads) == 4 * STEPS  # from the first step on
    assert before.items() <= {path: path.read_bytes() for path in tmp_path.glob("*/*.pt")}.items()


@pytest.mark.parametrize("change", CHANGES)
def test_put_where_it_does_not_belong_it_is_rejected_with_both_values(tmp_path, change):
    job = make_job(tmp_path)
    trained(job)
    patches = RandomPatches()
    other = changed(tmp_path, change, patches)
    shutil.copytree(tmp_path / job.fingerprint[:16], tmp_path / other.fingerprint[:16])
    with pytest.raises(BadInputError) as refused:
        launch(other)
    assert str(refused.value) == (
        f"the checkpoint in {other.fingerprint[:16]} belongs to another training: "
        f"{CHANGES[change][1]}"
    )
    assert patches.reads == []


@pytest.mark.parametrize("change", ENVIRONMENTS)
def test_another_environment_resumes_and_says_what_changed(tmp_path, caplog, capfd, change):
    """In one folder: the fifth step is killed, the checkpoint of the fourth is resumed."""
    settings, said = ENVIRONMENTS[change]
    killing = RandomPatches(poison="kill", after=4 * 4)
    plain = {"mixed_precision": "off"}
    assert run_apart(launch, make_job(tmp_path, killing, **plain)) == -signal.SIGKILL
    patches, record = RandomPatches(), Record()
    with caplog.at_level(logging.INFO):
        final = trained(make_job(tmp_path, patches, record, **{**plain, **settings}))
    assert final["resumed_with"] == [f"step 4: {said}"]
    assert len(final["history"]) == 3
    log = caplog.text + capfd.readouterr().err  # of other processes
    assert "resuming at step 4 of 9" in log
    assert f"resumed with {said}; from here on not bit-identical" in log
    if change != "processes":  # whose record another process has
        assert len(patches.reads) == 4 * (STEPS - 4)
        assert record.tags["resumed_with"] == f"step 4: {said}"
        card = json.loads(record.artifacts["card.json"])
        assert card["resumed_with"] == [f"step 4: {said}"]


def test_back_in_the_first_environment_both_changes_are_on_record(tmp_path):
    for step, threads in ((2, 1), (2, 2)):
        killing = RandomPatches(poison="kill", after=4 * step)
        assert run_apart(launch, make_job(tmp_path, killing, threads=threads)) == -signal.SIGKILL
    record = Record()
    assert trained(make_job(tmp_path, record=record))["resumed_with"] == [
        "step 2: threads 1 -> 2",
        "step 4: threads 2 -> 1",
    ]


def test_a_finished_training_stays_as_it_was_made(tmp_path, caplog):
    from idemnet.inference.weights import pack
    from idemnet.training.result import describe

    record = Record()
    job = make_job(tmp_path, record=record)
    files = pack(describe(job, trained(job)))
    assert files["card.json"] == record.artifacts["card.json"]
    with caplog.at_level(logging.INFO):
        again = make_job(tmp_path, RandomPatches(poison="kill"), record, threads=2)
        assert pack(describe(again, trained(again))) == files
    assert "done before (since then: threads 1 -> 2), nothing to do" in caplog.text


@pytest.mark.slow
def test_the_command_resumes_with_other_threads_and_mlflow_says_so(project):
    """At a time limit that is over before the first step, every command makes one step."""
    limit = "deblur.train.time_limit_minutes=0.0001"
    project.run(*TRAIN, f"--params={limit},deblur.train.threads=1")
    [first] = checkpoints(project)
    assert first.name.startswith("000000001-")
    output = project.run(*TRAIN, f"--params={limit},deblur.train.threads=2").stdout
    assert "resuming at step 1 of 18" in output
    assert "resumed with threads 1 -> 2; from here on not bit-identical" in output
    assert [path.name[:9] for path in checkpoints(project)] == ["000000001", "000000002"]
    with sqlite3.connect(project.folder / "mlflow.db") as store:
        [(tag,)] = store.execute("select value from tags where key = 'resumed_with'").fetchall()
    assert tag == "step 1: threads 1 -> 2"


@pytest.mark.slow
def test_the_command_reports_it_and_fails(project):
    limit = "deblur.train.time_limit_minutes=0.0001"  # saves at the first step
    change = f"--params={limit},deblur.train.learning_rate=0.003"
    project.run(*TRAIN, f"--params={limit}")
    [theirs] = {path.parent for path in checkpoints(project)}
    project.run(*TRAIN, change)
    [ours] = {path.parent for path in checkpoints(project)} - {theirs}
    shutil.rmtree(ours)
    shutil.copytree(theirs, ours)
    refused = project.run(*TRAIN, change, check=False)
    assert refused.returncode == 1
    assert "train.learning_rate = 0.002 there, 0.003 here" in refused.stderr
    assert "Traceback" not in refused.stderr
