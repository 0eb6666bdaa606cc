"""The worked examples of docs/extending.md work."""

import json
import re
import subprocess

import numpy as np
import pytest
from PIL import Image as PillowImage

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


def test_a_new_network(project):
    [train] = apply(project, "A new network")
    project.run(*train)
    card = json.loads((project.folder / "data/06_models/deblur/builtin/card.json").read_text())
    assert (card["architecture"], card["arguments"]) == ("plain", {"width": 16, "depth": 5})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0])
def test_every_example_is_tried(example):
    assert example.splitlines()[0] in ("A new task: denoising", "A new network")
