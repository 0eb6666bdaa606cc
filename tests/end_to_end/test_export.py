"""Exported programs run without this package, and are never wrong."""

import json
import re
import shutil
import sys

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image

from idemnet import Restorer
from idemnet.commands.main import main
from idemnet.errors import BadInputError
from idemnet.inference import export as exporting
from idemnet.inference.export import compare, export_network
from idemnet.models import build_network

from ..conftest import REPOSITORY, Project

WEIGHTS = "data/06_models/deblur/builtin"

ALONE = """
import json
import sys
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("idemnet-deblur.onnx")
images = np.load("images.npz")
restored = {name: session.run(["restored"], {"image": images[name]})[0] for name in images}
np.savez("restored.npz", **restored)
assert not {"torch", "idemnet"} & sys.modules.keys()
print(json.dumps(session.get_modelmeta().custom_metadata_map))
"""


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory) -> Project:
    """A project whose weights were exported to ONNX; tests add no file that others look at."""
    project = Project(tmp_path_factory.mktemp("exported") / "project")
    shutil.copytree(trained.folder / WEIGHTS, project.folder / WEIGHTS)
    result = project.run("idemnet", "export", "--format", "onnx", "--weights", WEIGHTS)
    project.output = result.stdout
    assert result.stderr == ""
    return project


def images() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    sizes = [(1, 1, 1), (1, 3, 50), (2, 97, 131), (3, 64, 64), (1, 255, 120)]
    return {str(size): rng.random((size[0], 3, *size[1:]), np.float32) for size in sizes}


def network(project: Project) -> torch.nn.Module:
    return Restorer.load(project.folder / WEIGHTS, device="cpu").model


@torch.no_grad()
def assert_restores_as(network: torch.nn.Module, restored: dict[str, np.ndarray]) -> None:
    for name, image in images().items():
        assert restored[name].dtype == np.float32
        assert np.abs(restored[name] - network(torch.from_numpy(image)).numpy()).max() < 1e-4


def test_onnx_needs_nothing_but_a_runtime(exported):
    np.savez(exported.folder / "images.npz", **images())
    about = json.loads(exported.run(sys.executable, "-c", ALONE).stdout)
    restored = np.load(exported.folder / "restored.npz")
    assert_restores_as(network(exported), dict(restored))
    card = json.loads((exported.folder / WEIGHTS / "card.json").read_text())
    assert about["task"] == "deblur"
    assert about["sha256"] == card["sha256"]
    assert (
        f"idempotent network for deblur, {card['parameters']:,} parameters" in about["description"]
    )


def test_size_and_difference_are_reported(exported):
    size = (exported.folder / "idemnet-deblur.onnx").stat().st_size
    said = re.fullmatch(
        r"idemnet-deblur\.onnx: ([\d.]+) MB, differs from the network by at most ([\d.e-]+)\n",
        exported.output,
    )
    assert said is not None
    assert float(said[1]) == round(size / 1e6, 1)
    assert 0 < float(said[2]) < 1e-4


def test_the_documented_program_runs_as_written(exported):
    text = (REPOSITORY / "docs/restoring.md").read_text()
    programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    [program] = [one for one in programs if "onnxruntime" in one]
    picture = np.random.default_rng(4).integers(0, 256, (45, 67, 3), np.uint8)
    Image.fromarray(picture).save(exported.folder / "photo.jpg")
    exported.run(sys.executable, "-c", program)
    restored = np.asarray(Image.open(exported.folder / "photo_restored.png"))
    given = np.asarray(Image.open(exported.folder / "photo.jpg"))
    wanted = Restorer.load(exported.folder / WEIGHTS, device="cpu")(given)
    assert (wanted != given).any()
    assert np.abs(restored.astype(int) - wanted).max() <= 1


@pytest.mark.slow
def test_pt2_is_run_by_torch_alone(exported):
    own = ("--weights", WEIGHTS, "-o", "below/a.pt2")
    result = exported.run("idemnet", "export", "--format", "pt2", *own)
    assert result.stdout.startswith("below/a.pt2: ")
    assert result.stderr == ""
    script = (
        "import sys, torch\n"
        "about = {'task': ''}\n"
        "program = torch.export.load('below/a.pt2', extra_files=about).module()\n"
        "print([tuple(program(torch.rand(n, 3, h, w)).shape) for n, h, w in "
        "[(1, 9, 13), (2, 97, 131)]], about['task'], 'idemnet' in sys.modules)"
    )
    said = exported.run(sys.executable, "-W", "ignore", "-c", script).stdout
    assert said == "[(1, 3, 9, 13), (2, 3, 97, 131)] deblur False\n"


def test_an_existing_file_is_skipped(exported):
    before = exported.bytes_below(".")
    result = exported.run("idemnet", "export", "--format", "onnx", check=False)
    assert result.returncode == 2
    assert result.stderr == (
        "Error: idemnet-deblur.onnx: already exists (use --force to overwrite it)\n"
    )
    assert exported.bytes_below(".") == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--weights", "nowhere"], "nowhere: not found"),
        (["--weights", "broken"], "broken/weights.safetensors: its sha256 is"),
        (["--task", "derain", "--weights", WEIGHTS], "these weights are for task 'deblur'"),
    ],
)
def test_bad_weights_are_rejected_in_one_sentence(exported, monkeypatch, arguments, said):
    shutil.copytree(exported.folder / WEIGHTS, exported.folder / "broken", dirs_exist_ok=True)
    with (exported.folder / "broken/weights.safetensors").open("ab") as file:
        file.write(b"x")
    monkeypatch.chdir(exported.folder)
    wanted = ["export", "--format", "onnx", "-o", "new.onnx", *arguments]
    result = CliRunner().invoke(main, wanted)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {said}")
    assert len(result.stderr.splitlines()) == 1
    assert not (exported.folder / "new.onnx").exists()


def test_a_program_that_restores_otherwise_is_not_written(exported, monkeypatch):
    load = exporting._load_onnx
    content = (exported.folder / "idemnet-deblur.onnx").read_bytes()
    monkeypatch.setattr(exporting, "_export_onnx", lambda *_: content)  # made before
    monkeypatch.setattr(
        exporting, "_load_onnx", lambda content: lambda image: load(content)(image) + 0.001
    )
    monkeypatch.chdir(exported.folder)
    wanted = ["export", "--format", "onnx", "-o", "wrong.onnx", "--weights", WEIGHTS]
    result = CliRunner().invoke(main, wanted)
    assert result.exit_code == 2
    assert re.fullmatch(
        r"Error: the exported program differs from the network by 0\.001 on images of 1x1, more "
        r"than 0\.0001: nothing was written\n",
        result.stderr,
    )
    assert not (exported.folder / "wrong.onnx").exists()


def test_nan_differs():
    nothing = torch.nn.Identity()
    with pytest.raises(BadInputError, match="by nan on images of 5x7"):
        compare(nothing, lambda image: image * float("nan"), [(1, 5, 7)])
    assert compare(nothing, lambda image: image + 1e-5, [(1, 5, 7)]) == pytest.approx(1e-5, rel=0.1)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(
        exporting, "find_spec", lambda name: None if name == "onnxscript" else object()
    )
    with pytest.raises(BadInputError, match=re.escape("pip install 'idemnet[export]'")):
        export_network(torch.nn.Identity(), "onnx", {})


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("idempotent", {"width": 2, "iterations": 2, "downscale": 2}, "onnx"),
        ("idempotent", {"width": 2, "iterations": 1, "downscale": 4, "block": "gated"}, "onnx"),
        ("dmphn", {"width": 2, "downscale": 4}, "onnx"),
        ("mtrnn", {"width": 2, "iterations": 2}, "onnx"),
        ("unet", {"width": 2}, "onnx"),
        ("unet", {"width": 2}, "pt2"),
    ],
)
@pytest.mark.slow
def test_every_network_can_be_exported(name, arguments, kind):
    torch.manual_seed(0)
    network = build_network(name, arguments).eval()
    assert export_network(network, kind, {}).difference < 1e-4
