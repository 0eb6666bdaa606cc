"""Whatever the path of the project and the names of files, data and weights are the same bytes."""

import unicodedata
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image as PillowImage

from idemnet.commands.main import main
from idemnet.datasets.patches import PatchesDataset
from idemnet.media.image_files import write_image
from idemnet.parameters.crop import CropParameters
from idemnet.parameters.synthesize import BlurParameters
from idemnet.pipelines.crop import crop
from idemnet.tasks.deblur import synthesize_blur

from ..pipelines.test_synthesize import load_raw, pairs_dataset
from .test_32_new_processes_give_the_same_bytes import without_timings

PLACE = "a b/ünï 模糊 #1 %20"
TRAIN = ("kedro", "run", "--pipeline=train_deblur", "--to-nodes=deblur.train")
NAMES = [
    "plain", "a b", "模糊", "#1", "%20", "100%", "it's", 'say "so"', "line\nbreak", "-dash", "--",
    "x" * 200, "back\\slash", "semi;colon", "$HOME", "`ls`", "{task}", "a,b", "*?[x]",
    unicodedata.normalize("NFC", "ünï"), unicodedata.normalize("NFD", "ünï"),
]  # fmt: skip
"""Of sequences and pictures; the last two look alike and are two."""


def results(project) -> dict[str, bytes]:
    """Data, with their manifests, and weights; journals and histories have times in them."""
    return {
        name: data
        for name, data in project.bytes_below().items()
        if not name.startswith("06_models") or name.endswith("builtin/weights.safetensors")
    }


def test_a_strange_place_gives_the_same_data_and_weights(make_project, trained):
    project = make_project(PLACE)
    project.run(*TRAIN)
    made = results(project)
    assert "06_models/deblur/builtin/weights.safetensors" in made
    assert made == {name: data for name, data in results(trained).items() if name in made}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_so_does_it_to_the_end_and_in_either_form_of_its_letters(form, make_project, trained):
    project = make_project(unicodedata.normalize(form, f"{PLACE}/-ü 'q' \"r\""))
    project.run("kedro", "run", "--pipeline=train_deblur")
    made = without_timings(results(project))
    assert "08_reporting/deblur/builtin/metrics.json" in made
    assert made == without_timings(results(trained))


def patches_of(folder: Path, names: list[str]):
    """Take sequences of these names from frames to patches."""
    rng = np.random.default_rng(0)
    for name in names:
        for frame in range(3):
            picture = rng.integers(0, 256, (16, 16, 3), np.uint8)
            write_image(folder / "set", f"train/{name}/{frame}.png", picture)
    raw = load_raw(folder, kind="folder", folder={"path": str(folder / "set")})
    pairs = pairs_dataset(folder)
    pairs.save(synthesize_blur(raw, BlurParameters(levels=(3,))))
    dataset = PatchesDataset(str(folder / "patches" / "set"))
    dataset.save(crop(pairs.load(), CropParameters(size=16, stride=16, validation_fraction=0)))
    reader = dataset.load().splits["train"]
    return {row.sequence: reader.read(number, 0, 0, 16) for number, row in enumerate(reader.rows)}


def test_sequences_of_any_name_become_the_same_patches(tmp_path):
    strange = patches_of(tmp_path / "strange", NAMES)
    plain = patches_of(tmp_path / "plain", [f"s{number:02d}" for number in range(len(NAMES))])
    assert strange.keys() == set(NAMES)
    for number, name in enumerate(NAMES):
        for ours, theirs in zip(strange[name], plain[f"s{number:02d}"], strict=True):
            assert (ours == theirs).all()


def test_pictures_of_any_name_are_restored_under_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    album = tmp_path / "-al bum"
    album.mkdir()
    for name in NAMES:
        PillowImage.new("RGB", (4, 4), (90, 20, 200)).save(album / f"{name}.png")
    result = CliRunner().invoke(main, ["restore", "--device", "cpu", "--", "-al bum"])
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "-al bum_restored").iterdir()} == {
        f"{name}.png" for name in NAMES
    }
    single = CliRunner().invoke(main, ["restore", "--device", "cpu", "--", "-al bum/-dash.png"])
    assert single.exit_code == 0, single.output
    assert (album / "-dash_restored.png").is_file()
