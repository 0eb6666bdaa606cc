"""Run every command in README and docs in a shell, in one small project.

INSTEAD lists substitutions for data and hardware that tests do not have, ELSEWHERE commands that
other tests and CI run. Takes minutes: `make slow`.
"""

import os
import re
import shutil
import signal
import subprocess
import sysconfig
import venv
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import cv2
import numpy as np
import pytest
import yaml

from idemnet.media.image_files import encode_png

from .conftest import BIN, REPOSITORY, SMALL, Project, environment
from .end_to_end.test_tools import free_port
from .inference.test_import_weights import random_network, release
from .inference.test_video import film

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
RNG = np.random.default_rng(3)
SCENE = cv2.resize(RNG.integers(0, 256, (16, 16, 3), np.uint8), (96, 96))
ALIGNED = {"input": cv2.GaussianBlur(SCENE, (0, 0), 1), "target": SCENE}

INSTEAD = {
    # Real data sets: a few small pictures, laid out as they are.
    r"=/data/": "=imitations/",
    r"realblur\.folder\.path=FOLDER": "realblur.folder.path=imitations/RealBlur",
    # GPUs: processes on the CPU, and fewer; a second machine: a copy of the project.
    r"processes=auto,deblur\.train\.batch_size=8": "processes=2,deblur.train.batch_size=2",
    r"processes=8,deblur\.train\.batch_size=16": "processes=1,deblur.train.batch_size=2",
    r",deblur\.train\.epochs=\d+,deblur\.train\.decay_epochs=\d+": "",
    r"first-machine:29400": f"127.0.0.1:{free_port()}",
    # What everybody calls by a name of their own.
    r"(?<=app --compare )WEIGHTS|(?<=app --weights )WEIGHTS": "data/06_models/deblur/builtin",
    r"(?<=import dmphn )FOLDER": "released",
    r"deblur-1c5f0a2e deblur-8d01b77c": "task=deblur",
    r"/mnt/shelf": "shelf",
    # Fewer seeds: they differ in nothing else.
    r"study\.seeds=3": "study.seeds=2",
    r"OLDER": "HEAD~1",
}
"""Substitutions in the documented commands."""

ELSEWHERE = {
    r"make test": ".ci/run",
    r"make (bench|faults)|python (benchmarks/.*|docs/make_(scale|reliability)\.py)": "Makefile",
    r"kedro run --pipeline=train_denoise|idemnet restore (grainy|--task denoise).*": (
        "tests/end_to_end/test_extending.py::test_a_new_task"
    ),
    r"kedro run --pipeline=study_width": "tests/end_to_end/test_extending.py::test_a_new_study",
    r"(kedro run|idemnet restore) .*mynets:PlainNet.*": (
        "tests/end_to_end/test_extending.py::test_a_new_network"
    ),
    r"dask (scheduler|worker .*)|kedro run .*cluster\.(scheduler|local).*": (
        "tests/storage/test_cluster.py"
    ),
    r"torchrun .*": "tests/end_to_end/test_clusters.py::test_torchrun_on_two_machines",
    r"idemnet .* (peers:Adapted|.*--network peers:Adapted).*": (
        "tests/inference/test_import_weights.py"
        "::test_a_peer_restores_as_released_by_the_documented_commands"
    ),
    r"idemnet track push": (
        "tests/tracking/test_push.py::test_everything_is_pushed_and_pushed_once"
    ),
}
"""Commands that are run elsewhere, and where."""

SERVERS = {
    r"idemnet app.*": "The page is at http",
    r"kedro viz run": "Kedro Viz started successfully",
    r"mlflow ui": "Uvicorn running on|Listening at",
}
"""Servers, and their output when they are ready; then they are stopped."""


def commands():
    """Yield the commands of shell blocks, and those inside sentences."""
    for page in PAGES:
        text = page.read_text()
        for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
            for line in re.sub(r"\\\n\s*", "", block).splitlines():
                if command := re.sub(r"(^|\s+)#.*", "", line).strip():
                    yield command
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        for name in re.findall(r"`((?:kedro|idemnet|dvc|pip|make|mlflow|python)\s[^`]+)`", prose):
            yield " ".join(name.split())


COMMANDS = [one for one in dict.fromkeys(commands()) if one != "idemnet restore"]
COMMANDS.sort(key=lambda one: "--task dehaze" in one)  # "train first"


def is_run_here(command):
    return not any(re.fullmatch(pattern, command) for pattern in ELSEWHERE)


@pytest.fixture(scope="module")
def place(trained, tmp_path_factory) -> Project:
    """A trained project under version control, with all files that the pages name."""
    folder = tmp_path_factory.mktemp("words") / "project"
    shutil.copytree(trained.folder, folder)
    project = Project(folder)
    for name in ("README.md", "Makefile", "constraints.txt", ".gitignore"):
        shutil.copy(REPOSITORY / name, folder)
    make_small(project)
    make_inputs(folder)
    venv.create(folder.parent / "fresh", with_pip=True)
    # Dependencies are those of the tests; what pip installs is idemnet.
    [site] = (folder.parent / "fresh/lib").glob("python*/site-packages")
    for old in (*site.glob("setuptools*"), site / "pkg_resources", site / "_distutils_hack"):
        shutil.rmtree(old, ignore_errors=True)  # Python 3.11 brings one that is too old to build
    (site / "distutils-precedence.pth").unlink(missing_ok=True)
    (site / "tests.pth").write_text(sysconfig.get_path("purelib"))
    (folder / ".venv/bin").parent.mkdir()
    (folder / ".venv/bin").symlink_to(BIN)
    (folder / ".venv/installed").touch()
    for command in (
        "git init -q -b main", "git config user.email a@b.c", "git config user.name a",
        "dvc init -q", "dvc config core.analytics false", "git add -A", "git commit -qm one",
        "git commit -q --allow-empty -m two",
    ):  # fmt: skip
        project.run(*command.split())
    return project


def make_small(project: Project) -> None:
    """Make settings small; conf/paper keeps the rest."""
    study = {"train": {"epochs": 1, "single_pass_epochs": 0}, "evaluate": {"detailed_images": 1}}
    realblur = {"folder": {"path": "imitations/RealBlur"}}
    filmed = {"folder": {"path": "imitations/filmed"}}
    project.set_base({**SMALL, "study": study, "realblur": realblur, "filmed": filmed})
    networks = {name: {"width": 4, "iterations": 1} for name in ("idempotent", "mtrnn")}
    networks["dmphn"] = {"width": 2}
    train = {"network": networks, "epochs": 1, "crop": 16, "batch_size": 2, "workers": 0}
    evaluate = {"detailed_images": 1, "passes": 2, "noise": [0]}
    for environment_name in ("paper", "starter", "gopro_third"):
        conf = project.folder / "conf" / environment_name
        for task in ("deblur", "dehaze", "derain"):
            path = conf / f"parameters_{task}.yml"
            if not path.exists():
                continue
            settings = yaml.safe_load(path.read_text())[task]
            settings["crop"] = {"size": 32, "stride": 32, "min_contrast": 0}
            settings["train"] = {**settings["train"], **train, "single_pass_epochs": 0}
            settings["evaluate"] = {**settings.get("evaluate", {}), **evaluate}
            mix = settings["source"].get("mix", {})
            for source in (settings["source"], *mix.values()):
                source["expected"] = {}
                if "builtin" in source:
                    source["builtin"] |= SMALL[task]["source"]["builtin"]
            unpacked = {"path": "GOPRO_Large.unpacked/GOPRO_Large"}
            if mix:
                mix["gopro_third"] |= {"folder": unpacked, "crop": {}}
            elif environment_name == "gopro_third":
                settings["source"]["folder"] = unpacked
            elif "archive" in settings["source"]:
                settings["source"]["archive"]["addresses"] = ["imitations/GOPRO_Large.zip"]
            path.write_text(yaml.safe_dump({task: settings}))
    (project.folder / "conf/gopro_third/parameters_study.yml").unlink()


def make_inputs(folder: Path) -> None:
    def draw(name: str, side: int = 48) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image = RNG.integers(0, 256, (side, side, 3), np.uint8)
        is_png = path.suffix == ".png"
        path.write_bytes(encode_png(image)) if is_png else cv2.imwrite(str(path), image)

    for name in ("photo.jpg", "photo.png", "hazy.tif", "huge.tif", "album/a.jpg",
                 "data/01_raw/inbox/a.png", "data/01_raw/photographs/meadow.jpg",
                 "results/1.png", "GOPRO_Large/test_sharp/1.png"):  # fmt: skip
        draw(name)
    for number in range(17):
        draw(f"imitations/filmed/train/GOPR0001_11_00/{number:06}.png")
    draw("SOTS/clear/1.png", 68)
    for number in range(1, 5):
        for role in ("blur", "blur_gamma", "sharp"):
            split = "test" if number == 4 else "train"
            draw(f"GOPRO_Large.unpacked/GOPRO_Large/{split}/GOPR000{number}_11_00/{role}/1.png")
        split = "test" if number == 4 else "train"
        draw(f"imitations/RESIDE/{split}/clear/{number}.png", 68)
        draw(f"imitations/RESIDE/{split}/hazy/{number}_1.png")
        for role in ("input", "target"):
            draw(f"imitations/Rain/train/Rain13K/{role}/{number}.png")
    for role in ("input", "target"):
        for name in ("Test100", "Rain100H", "Rain100L"):
            draw(f"imitations/Rain/test/{name}/{role}/1.png")
        for name in ("RealBlur_J", "RealBlur_R"):
            pair = folder / f"imitations/RealBlur/test/{name}/{role}/1.png"
            pair.parent.mkdir(parents=True)
            pair.write_bytes(encode_png(ALIGNED[role]))
    shutil.make_archive(str(folder / "imitations/GOPRO_Large"), "zip",
                        folder / "GOPRO_Large.unpacked")  # fmt: skip
    film(folder / "clip.mp4")
    release(folder / "released", random_network(width=32))


@pytest.mark.slow
def test_every_documented_command_works(place, subtests):
    """One test, because later commands use the results of earlier ones."""
    for command in filter(is_run_here, COMMANDS):
        with subtests.test(command):
            try_out(command, place.folder)


def try_out(command: str, folder: Path) -> None:
    for shown, really in INSTEAD.items():
        command = re.sub(shown, really, command)
    if said := next((said for one, said in SERVERS.items() if re.fullmatch(one, command)), None):
        serve(command, said, folder)
    elif "nodes=2" in command:
        second = folder.with_name("second")
        shutil.copytree(folder, second, symlinks=True)
        with ThreadPoolExecutor(2) as machines:
            list(machines.map(lambda one: run(command, one), (folder, second)))
    else:
        run(command, folder)


def surroundings(folder: Path) -> dict[str, str]:
    """Pip builds without isolation (0 means that), and no browser opens."""
    path = f"{folder.parent / 'fresh/bin'}:{environment()['PATH']}"
    return environment(PIP_NO_BUILD_ISOLATION="0", BROWSER="true") | {"PATH": path}


def run(command: str, folder: Path) -> None:
    result = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=surroundings(folder), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-5000:]


def serve(command: str, said: str, folder: Path) -> None:
    process = subprocess.Popen(
        ["bash", "-c", f"exec {command}"], cwd=folder, env=surroundings(folder), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if re.search(said, line):
                return
        raise AssertionError("".join(lines))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


def test_every_substitution_is_used():
    for pattern in (*INSTEAD, *ELSEWHERE, *SERVERS):
        assert any(re.search(pattern, command) for command in COMMANDS), pattern


@pytest.mark.parametrize("runner", sorted(set(ELSEWHERE.values())))
def test_runners_exist(runner):
    path, _, name = runner.partition("::")
    content = (REPOSITORY / path).read_text()
    assert not name or f"def {name}(" in content
