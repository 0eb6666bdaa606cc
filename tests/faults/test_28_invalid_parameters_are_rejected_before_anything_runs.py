"""Invalid parameters are rejected with key, value and rule before a file under data is touched."""

import copy
import hashlib
import math
import resource
import shutil

import pytest

from idemnet.hooks.parameters import describe_faults
from idemnet.tasks import get_task

from ..test_project import loader

MISSING = object()
FAULTS = {
    "negative": ("train.learning_rate", -1e-4, "= -0.0001: Input should be greater than 0"),
    "zero": ("train.learning_rate", 0, "= 0: Input should be greater than 0"),
    "not a number": ("train.learning_rate", math.nan, "= nan: Input should be a finite number"),
    "infinite": ("train.learning_rate", math.inf, "= inf: Input should be a finite number"),
    "even": ("synthesize.levels", [5, 6], ".1 = 6: must be odd, so that there is a"),
    "unknown model": ("train.model", "resnet", "= 'resnet': must be idempotent, dmphn"),
    "unknown key": ("train.learning_rat", 1, "= 1: Extra inputs are not permitted"),
    "wrong type": ("crop.stride", "wide", "= 'wide': Input should be a valid integer"),
    "missing group": ("train", MISSING, ": Field required"),
    "no group": ("train", None, "= None: Input should be a valid dictionary"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_message_has_key_value_and_rule(fault):
    key, value, rule = FAULTS[fault]
    parameters = copy.deepcopy(dict(loader("base")["parameters"]["deblur"]))
    *path, last = key.split(".")
    group = parameters
    for name in path:
        group = group[name]
    if value is MISSING:
        del group[last]
    else:
        group[last] = value
    [said] = describe_faults("deblur", get_task("deblur").parameters, parameters)
    assert said.startswith(f"  deblur.{key}")
    assert rule in said


def tree_hash(folder) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(f"{path} {path.stat().st_mtime_ns}".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def test_wrong_parameters_are_all_named_and_change_no_file(project, prepared):
    shutil.copytree(prepared.folder / "data", project.folder / "data")
    before = tree_hash(project.folder / "data")
    project.set_parameters(
        {
            "deblur": {
                "source": {"builtin": {"height": -1, "colour": "red"}},
                "synthesize": {"levels": [5, 6]},
                "crop": {"size": 64, "stride": "wide"},
                "train": {"learning_rate": math.nan, "model": "resnet"},
            },
            "debblur": {},
        }
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    refused = project.run("kedro", "run", check=False)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    # What it works counts: a busy machine gives it less than a second in a second.
    assert now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime < 10
    assert refused.returncode == 1
    text = refused.stdout + refused.stderr
    for fault in (
        "deblur.source.builtin.height = -1: Input should be greater than or equal to 32",
        "deblur.source.builtin.colour = 'red': Extra inputs are not permitted",
        "deblur.synthesize.levels.1 = 6: must be odd, so that there is a middle frame",
        "deblur.crop.stride = 'wide': Input should be a valid integer",
        "deblur.train.learning_rate = nan: Input should be a finite number",
        "deblur.train.model = 'resnet': must be idempotent, dmphn, mtrnn, unet or package.module",
        "debblur: unknown task",
    ):
        assert fault in text, text
    assert "Traceback" not in text
    assert tree_hash(project.folder / "data") == before


def test_a_patch_larger_than_the_image_is_rejected_before_anything_runs(project):
    refused = project.run("kedro", "run", "--params=deblur.crop.size=49", check=False)
    assert refused.returncode == 1
    assert "crop.size = 49 must fit into the image: source.builtin is 48x64" in refused.stderr
    assert not (project.folder / "data").exists()


def test_an_old_name_is_rejected_with_the_new_one_before_anything_runs(project):
    project.set_parameters({"study": {"train": {"warmup_epochs": 1}}})
    old = "--params=deblur.train.average=0.9,deblur.train.epochs=-1"
    rejected = project.run("kedro", "run", old, check=False)
    assert rejected.returncode == 1
    assert rejected.stderr.endswith(
        "invalid parameters, nothing was run:\n"
        "  deblur.train.average was renamed to ema_decay\n"
        "  study.train.warmup_epochs was renamed to single_pass_epochs\n"
    )
    assert not (project.folder / "data").exists()


def test_a_file_of_sources_is_rejected_with_its_new_place(project):
    """As earlier versions read it; ignoring it would train on other data."""
    (project.folder / "conf/local/sources.yml").write_text("deblur: {source: {kind: folder}}")
    rejected = project.run("kedro", "run", check=False)
    assert rejected.returncode == 1
    assert "conf/local/sources.yml: no longer read, move its content to" in rejected.stderr
    assert not (project.folder / "data").exists()
