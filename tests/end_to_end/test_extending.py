"""Apply and run the worked examples of docs/extending.md."""

import json
import re
import subprocess

import numpy as np
import pytest
from PIL import Image as PillowImage

from idemnet.errors import BadInputError
from idemnet.models import build_network

from ..app_client import serve_app
from ..conftest import REPOSITORY, SCENES, SMALL

EXAMPLES = re.split(r"^## ", (REPOSITORY / "docs/extending.md").read_text(), flags=re.MULTILINE)[1:]


def apply(project, title):
    [example] = [one for one in EXAMPLES if one.startswith(title)]
    [patch] = re.findall(r"```diff\n(.*?)```", example, re.DOTALL)
    subprocess.run(["git", "apply", "-"], cwd=project.folder, input=patch, text=True, check=True)
    [commands] = re.findall(r"```bash\n(.*?)```", example, re.DOTALL)
    return [line.split() for line in commands.strip().splitlines()]


@pytest.mark.slow
def test_a_new_task(project, monkeypatch):
    train, restore, app = apply(project, "A new task")
    small = {
        **SMALL["deblur"],
        "source": {"builtin": SCENES},
        "synthesize": {"levels": 2},
        "evaluate": {"protocol": "rgb", "passes": 3, "noise": [0], "samples": 1},
    }
    project.set_parameters({**SMALL, "denoise": small})
    project.run(*train)
    report = project.folder / "data/08_reporting/denoise/builtin"
    assert json.loads((report / "metrics.json").read_text())["task"] == "denoise"
    assert "noisy" in (report / "report.html").read_text()
    grainy = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    PillowImage.fromarray(grainy).save(project.folder / "grainy.png")
    monkeypatch.setenv("PYTHONPATH", str(project.folder / "src"))  # not what is installed
    assert "denoise" in project.run("idemnet", "restore", "--help").stdout
    project.run(*restore)
    assert (project.folder / "grainy_restored.png").is_file()
    with serve_app(project.folder, *app[2:]) as page:
        shown = [name for _, name in page.choices["task"]]
        assert "denoise" in shown
        assert "noisy cat" in json.dumps(page.shown["samples"])


@pytest.mark.slow
def test_a_new_study(project):
    [run] = apply(project, "A new study")
    train = {"epochs": 1, "single_pass_epochs": 0, "crop": 16}
    small = {"train": train, "evaluate": {"detailed_images": 1}}
    project.set_parameters({**SMALL, "study": small})
    project.run(*run)
    folder = project.folder / "data/08_reporting/studies/builtin"
    table = (folder / "width/table.md").read_text()
    assert table.startswith("# Half the width (not in the paper)\n")
    assert re.search(r"^\| idempotent, half the width \| \d+\.\d\d \|", table, re.MULTILINE)
    assert re.search(r"^\| Twice the width restores better \| .* dB \| ", table, re.MULTILINE)
    assert "<svg" in (folder / "width/figure.svg").read_text()
    assert 'id="width"' in folder.with_suffix(".html").read_text()


@pytest.mark.slow
def test_a_new_network(project, tmp_path, monkeypatch):
    [example] = [one for one in EXAMPLES if one.startswith("A new network")]
    [code] = re.findall(r"```python\n(.*?)```", example, re.DOTALL)
    (tmp_path / "mynets.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    [commands] = re.findall(r"```bash\n(.*?)```", example, re.DOTALL)
    train, restore = (line.split() for line in commands.strip().splitlines())
    project.run(*train)
    card = json.loads((project.folder / "data/06_models/deblur/builtin/card.json").read_text())
    assert (card["architecture"], card["arguments"]) == ("mynets:PlainNet", {"width": 16})
    assert card["training"]["passes"] == 2
    picture = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    PillowImage.fromarray(picture).save(project.folder / "photo.png")
    refused = project.run(*restore[:-2], check=False)
    assert refused.returncode == 2
    assert "if you trust its code, use --network mynets:PlainNet" in refused.stderr
    other = project.run(*restore[:-1], "os:system", check=False)
    assert "the weights are for network 'mynets:PlainNet', not 'os:system'" in other.stderr
    project.run(*restore)
    assert (project.folder / "photo_restored.png").is_file()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("os:system", "is not a torch.nn.Module"),
        ("nowhere.to:Find", "No module named 'nowhere'"),
        ("torch.nn:Nothing", "has no attribute 'Nothing'"),
        ("torch.nn:Linear", "missing 2 required positional arguments"),
    ],
)
def test_what_is_no_network_is_rejected_with_a_clear_error(model, said):
    with pytest.raises(BadInputError, match=said):
        build_network(model, {})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0])
def test_every_example_is_tried(example):
    assert example.splitlines()[0] in (
        "A new task: denoising",
        "A new study: half the width",
        "A new network",
    )
