"""The tools around the pipelines: packaging, kedro viz, catalog, ipython, notebooks, make."""

import base64
import contextlib
import inspect
import io
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from kedro.framework.cli.jupyter import jupyter_notebook
from nbclient import NotebookClient
from PIL import Image

from idemnet.pipeline_registry import register_pipelines

from ..conftest import REPOSITORY, environment


def test_the_packaged_wheel_runs_a_pipeline_outside_the_repository(project, prepared, tmp_path):
    (project.folder / "README.md").write_text("x")
    project.run("kedro", "package")
    [wheel] = (project.folder / "dist").glob("*.whl")
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(site), str(wheel)], check=True)
    packed = project.folder / "dist/conf-idemnet.tar.gz"
    subprocess.run(["tar", "xzf", str(packed)], cwd=tmp_path, check=True)
    configuration = tmp_path / "conf"
    settings = ["train=2", "validation=1", "test=1", "frames=19", "height=48", "width=64"]
    params = [f"deblur.source.builtin.{one}" for one in settings]
    params += ["deblur.crop.size=32", "deblur.crop.stride=16", "deblur.train.crop=16"]
    command = [sys.executable, "-m", "idemnet", "--pipeline=prepare_deblur", "--tags=download",
               f"--conf-source={configuration}", f"--params={','.join(params)}"]  # fmt: skip
    run = subprocess.run(
        command, cwd=elsewhere, env=environment(PYTHONPATH=str(site)), text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    expected = {name: data for name, data in prepared.bytes_below().items() if "01_raw" in name}
    found = {
        str(path.relative_to(elsewhere / "data")): path.read_bytes()
        for path in (elsewhere / "data").rglob("*")
        if path.is_file() and path.parent.name != ".locks"
    }
    assert found == expected


def test_kedro_viz_shows_the_steps_with_sizes_and_previews(trained):
    port = free_port()
    server = trained.start("kedro", "viz", "run", "--no-browser", f"--port={port}")
    try:
        found = get_json(port, "main")["nodes"]
        steps = {node["name"] for node in found if node["type"] == "task"}
        expected = ("download", "synthesize", "crop", "train", "evaluate", "report")
        assert steps == {f"deblur.{step}" for step in expected}
        nodes = {
            node["name"]: get_json(port, f"nodes/{node['id']}")
            for node in found
            if node["type"] == "data"
        }
        for name, node in nodes.items():
            assert (trained.folder / node["filepath"]).exists(), name
            assert name == "deblur.other_runs" or node["stats"]["file_size"] > 1000, name
        for name in ("deblur.raw", "deblur.pairs", "deblur.patches", "deblur.evaluation"):
            picture = base64.b64decode(nodes[name]["preview"])
            assert Image.open(io.BytesIO(picture)).width > 200
        curves = nodes["deblur.weights"]["preview"]
        assert [one["name"] for one in curves["data"]] == ["first pass", "third pass"]
        assert nodes["deblur.report"]["preview_type"] == "HTMLPreview"
        report = nodes["deblur.report"]["preview"]
        psnr = json.loads(
            (trained.folder / "data/08_reporting/deblur/builtin/metrics.json").read_bytes()
        )["restored"]["psnr"]
        assert re.search(rf"\| PSNR, dB \| [\d.]+ \| {psnr:.2f} \|", report)
        plots = re.findall(r'<img width="100%" src="data:image/png;base64,([^"]+)">', report)
        assert len(plots) == 6
        assert all(Image.open(io.BytesIO(base64.b64decode(one))).width > 200 for one in plots)
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # the server has processes of its own
        server.communicate()


def free_port() -> int:
    """Find a port below the ephemeral ones, which Kedro-Viz refuses."""
    while True:
        port = random.randrange(20000, 32000)
        with contextlib.suppress(OSError), socket.socket() as free:
            free.bind(("127.0.0.1", port))
            return port


def get_json(port: int, path: str) -> dict:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/{path}") as answer:
                return json.load(answer)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def test_kedro_registry_catalog_and_ipython(prepared, tmp_path):
    assert {"prepare_deblur", "train_deblur"} <= set(
        re.findall(r"- (\w+)", prepared.run("kedro", "registry", "list").stdout)
    )
    described = prepared.run("kedro", "catalog", "describe-datasets").stdout
    assert "deblur.patches" in described
    script = tmp_path / "look.ipy"
    script.write_text("print('size', catalog.load('deblur.patches').size, list(pipelines))")
    assert "size 32 ['__default__'" in prepared.run("kedro", "ipython", str(script)).stdout


NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_with_one_small_picture_and_nothing_else(path):
    notebook = nbformat.read(path, as_version=4)
    assert all(cell.get("execution_count") is None for cell in notebook.cells)
    [output] = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert list(output.data) == ["image/png"]
    png = base64.b64decode(output.data["image/png"])
    assert len(png) < 150_000
    with Image.open(io.BytesIO(png)) as picture:
        assert picture.width >= 800


def test_the_readme_names_what_kedro_needs_for_notebooks():
    """Without it, Kedro says nothing but `NoneType: None`."""
    readme = (REPOSITORY / "README.md").read_text()
    assert "`pip install notebook`, then `kedro jupyter notebook`" in readme
    command = inspect.unwrap(jupyter_notebook.callback)
    assert '_check_module_importable("notebook")' in inspect.getsource(command)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, trained):
    notebook = nbformat.read(path, as_version=4)
    assert not any(
        re.search(r"^\s*(def|class) ", cell.source, re.MULTILINE) for cell in notebook.cells
    )
    folder = trained.folder / "notebooks"
    folder.mkdir(exist_ok=True)
    os.environ["MPLBACKEND"] = "agg"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()


def test_every_pipeline_target_and_file_that_pages_name_exists():
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]
    readme = "\n".join(page.read_text() for page in pages)
    pipelines = register_pipelines()
    for name in re.findall(r"--pipeline=(\w+)", readme):
        assert name in pipelines or name in ("train_denoise", "study_width")  # worked examples
    targets = subprocess.run(
        ["make", "-C", str(REPOSITORY), "help"], capture_output=True, text=True, check=True
    ).stdout
    for name in re.findall(r"(?:^|`)make (\w+)", readme, re.MULTILINE):
        assert f"make {name}" in targets
    for page in pages:
        for link in re.findall(r"\]\(([^)#h][^)#]*)[)#]", page.read_text()):
            assert (page.parent / link).exists(), f"{page}: {link}"


def test_a_second_make_installs_nothing(tmp_path):
    """Make's own answer to what it would do, in a tree whose environment is newer than its pins."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(REPOSITORY / name, tmp_path)
    installed = tmp_path / ".venv" / "installed"
    installed.parent.mkdir()
    would = ["make", "-C", str(tmp_path), "-n", "run"]
    first = subprocess.run(would, capture_output=True, text=True, check=True).stdout
    assert "-m venv .venv" in first and "--constraint constraints.txt" in first
    installed.touch()
    second = subprocess.run(would, capture_output=True, text=True, check=True).stdout
    assert "pip install" not in second and "kedro run --pipeline=train_deblur" in second
