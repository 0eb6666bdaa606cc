"""Restoring pictures needs none of the tools of training: here they cannot be imported."""

import ast
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from idemnet.inference.find_weights import find_starter

from .conftest import REPOSITORY
from .inference.test_hub_weights import published, serve

TOOLS = (
    "dvc", "gradio", "imageio", "jinja2", "kedro", "kedro_datasets", "matplotlib", "mlflow",
    "pandas", "requests", "skimage", "sklearn", "sqlalchemy",
    "fcntl",  # which Windows does not have
)  # fmt: skip
BLOCKED = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {TOOLS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(BLOCKED)
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.png")

    def run(*command):
        paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": paths},
        )  # fmt: skip

    return run


def test_the_tools_are_really_blocked(run):
    assert "No module named 'kedro'" in run("-c", "import kedro").stderr


def test_the_command_restores(run, tmp_path):
    done = run("-c", "from idemnet.commands.main import main; main()", "restore", "photo.png")
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "photo_restored.png") as restored:
        assert restored.size == (60, 40)


def test_the_class_restores(run):
    code = "from idemnet import Restorer; print(Restorer.load()('photo.png').size)"
    assert run("-c", code).stdout == "(60, 40)\n"


def test_weights_of_the_hub_restore(run, hub):
    serve(hub, published(find_starter("deblur").parent))
    code = "from idemnet import Restorer; print(Restorer.load('hf://owner/name')('photo.png').size)"
    done = run("-c", code)
    assert done.stdout == "(60, 40)\n", done.stderr


def test_what_needs_more_names_the_extra(run):
    done = run("-c", "from idemnet.commands.main import main; main()", "compare", "a", "b")
    assert done.returncode == 2
    assert (
        "is not installed, and this command needs it: pip install 'idemnet[train]'" in done.stderr
    )
    assert "Traceback" not in done.stderr


UNIX_MODULES = {"fcntl", "grp", "pwd", "resource", "termios"}
AS_ON_WINDOWS = f"""
import builtins, importlib, os, pkgutil, signal
import idemnet

found = builtins.__import__

def imported(name, globals=None, *rest, **named):
    if name in {UNIX_MODULES!r} and globals["__name__"].startswith("idemnet"):
        raise ModuleNotFoundError(name)  # other packages ask first which system this is
    return found(name, globals, *rest, **named)

builtins.__import__ = imported
for place, names in (
    (signal, ("SIGALRM", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGUSR1", "SIGUSR2")),
    (os, ("fork", "getuid", "sched_getaffinity")),
):
    for name in names:
        delattr(place, name)
names = [module.name for module in pkgutil.walk_packages(idemnet.__path__, "idemnet.")]
for name in names:
    if not name.startswith("idemnet.training.") and not name.endswith(".__main__"):
        importlib.import_module(name)
print(len(names))
"""


def test_all_but_training_can_be_imported_on_windows(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 200


def test_only_training_imports_what_only_unix_has():
    """Functions may, where they say why."""
    source = REPOSITORY / "src/idemnet"
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([one.name for one in node.names], [getattr(node, "module", None)])
        if UNIX_MODULES & set(name)
    }
    assert {path for path in found if not path.startswith("training/")} == set()
