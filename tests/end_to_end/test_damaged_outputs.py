"""Deleted or edited outputs are made again; a run changes no tracked file."""

import shutil

from ..conftest import REPOSITORY, SMALL, Project, mlflow_tables

TRAIN = ("kedro", "run", "--pipeline=train_deblur")
METRICS = "data/08_reporting/deblur/builtin/metrics.json"
DAMAGED = {
    "01_raw/deblur/builtin": "train/scene_000/000003.png",
    "03_primary/deblur/builtin": "train/scene_000/sharp/000003.png",
    "05_model_input/deblur/builtin": "train/patches.npy",
    "06_models/deblur/builtin": "weights.safetensors",
    "07_model_output/deblur/builtin": "scores.json",
    "08_reporting/deblur/builtin": "metrics.json",
}


def flip(path) -> None:
    """Change one byte, as an editor would: the size stays."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def stable(project: Project) -> dict[str, bytes]:
    """Return what a second run makes to the same bytes: all but wall-clock times."""
    timed = ("07_model_output/deblur/builtin/", "08_reporting/deblur/builtin/", "06_models/runs/")
    return {
        name: data
        for name, data in project.bytes_below().items()
        if not name.startswith(timed) or name.endswith(("metrics.json", "restored.png"))
    }


def test_every_damaged_folder_is_made_again_and_named(copied):
    before = stable(copied)
    for number, (folder, name) in enumerate(DAMAGED.items()):
        path = copied.folder / "data" / folder / name
        flip(path) if number % 2 else path.unlink()
    output = copied.run(*TRAIN).stdout
    for folder, name in DAMAGED.items():
        assert f"data/{folder}: missing or changed: {name}; making the folder again" in output
    assert output.count("making the folder again") == len(DAMAGED)
    assert stable(copied) == before
    assert "making the folder again" not in copied.run(*TRAIN).stdout


def test_what_reads_a_damaged_folder_names_the_file_and_the_command(copied):
    flip(copied.folder / "data/03_primary/deblur/builtin/train/scene_000/sharp/000003.png")
    refused = copied.run("kedro", "run", "--pipeline=prepare_deblur", "--tags=crop", check=False)
    assert refused.returncode == 1
    assert (
        "1 of 36 files are missing or changed: train/scene_000/sharp/000003.png; make it again "
        "with: kedro run --pipeline=prepare_deblur --tags=synthesize"
    ) in refused.stdout + refused.stderr
    (copied.folder / "data/06_models/deblur/builtin/history.json").unlink()
    refused = copied.run("kedro", "run", "--pipeline=evaluate_deblur", "--tags=report", check=False)
    assert (
        "data/06_models/deblur/builtin/history.json: missing or damaged; make it again with: "
        "kedro run --pipeline=train_deblur --tags=train"
    ) in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stderr


def test_git_sees_no_change_after_a_run_in_a_fresh_clone(copied, tmp_path):
    shutil.copy(REPOSITORY / ".gitignore", copied.folder)
    copied.run("git", "init", "-q", "-b", "main")
    copied.run("git", "add", "-A")
    copied.run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "made")
    copied.run("git", "clone", "-q", ".", str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone")
    clone.set_parameters(SMALL)
    shutil.copy(mlflow_tables(), clone.folder / "mlflow.db")
    assert "making the folder again" not in clone.run(*TRAIN).stdout
    assert (clone.folder / METRICS).is_file()
    assert clone.run("git", "status", "--porcelain").stdout == ""
    # Nor would other scores, as another processor computes: git tracks none.
    assert clone.run("git", "ls-files", "data").stdout == ""
