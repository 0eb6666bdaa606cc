"""A checkpoint of other parameters, data or threads is never taken up, and never lost."""

import shutil
from dataclasses import replace

import pytest

from idemnet.errors import BadInputError
from idemnet.training.launch import run_team

from ..end_to_end.test_train import TRAIN, checkpoints
from ..training.tiny import STEPS, RandomPatches, make_job, trained

CHANGES = {
    "learning_rate": ({"learning_rate": 2e-3}, "train.learning_rate = 0.001 there, 0.002 here"),
    "threads": (
        {"threads": 2},
        "made_on.threads = 1 there, 2 here; train.threads = 1 there, 2 here",
    ),
    "data": ({}, "data = 'data' there, 'other data' here"),
}


def changed(folder, change: str, patches: RandomPatches):
    job = make_job(folder, patches, **CHANGES[change][0])
    if change == "data":
        job = replace(job, patches=replace(job.patches, fingerprint="other data"))
    return job


# Two threads would only wait for each other here.
@pytest.mark.parametrize("change", ["learning_rate", "data"])
def test_changed_settings_train_beside_what_is_there(tmp_path, change):
    trained(make_job(tmp_path))
    before = {path: path.read_bytes() for path in tmp_path.glob("*/*.pt")}
    patches = RandomPatches()
    trained(changed(tmp_path, change, patches))
    assert len(patches.reads) == 4 * STEPS  # from the first step on
    assert before.items() <= {path: path.read_bytes() for path in tmp_path.glob("*/*.pt")}.items()


@pytest.mark.parametrize("change", CHANGES)
def test_put_where_it_does_not_belong_it_is_refused_with_both_values(tmp_path, change):
    job = make_job(tmp_path)
    trained(job)
    patches = RandomPatches()
    other = changed(tmp_path, change, patches)
    shutil.copytree(tmp_path / job.fingerprint[:16], tmp_path / other.fingerprint[:16])
    with pytest.raises(BadInputError) as refused:
        run_team(other)
    assert str(refused.value) == (
        f"the checkpoint in {other.fingerprint[:16]} is of another training: {CHANGES[change][1]}"
    )
    assert patches.reads == []


@pytest.mark.slow
def test_the_command_says_so_and_fails(copied):
    change = "--params=deblur.train.learning_rate=0.003"
    [theirs] = {path.parent for path in checkpoints(copied)}
    copied.run(*TRAIN, change)
    [ours] = {path.parent for path in checkpoints(copied)} - {theirs}
    shutil.rmtree(ours)
    shutil.copytree(theirs, ours)
    refused = copied.run(*TRAIN, change, check=False)
    assert refused.returncode == 1
    assert "train.learning_rate = 0.002 there, 0.003 here" in refused.stderr
    assert "Traceback" not in refused.stderr
