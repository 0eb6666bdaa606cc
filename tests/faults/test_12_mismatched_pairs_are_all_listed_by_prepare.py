"""Pairs of different sizes or without a partner are rejected by prepare, all in one message."""

import pytest
import yaml
from kedro.io import DatasetError

from idemnet.media.image_files import write_image
from idemnet.parameters.synthesize import BlurParameters
from idemnet.tasks.deblur import synthesize_blur

from ..pipelines.test_synthesize import gopro_like, image, load_raw, pairs_dataset


def test_the_command_lists_the_first_ten_and_counts_the_rest_before_any_training(project):
    pictures = project.folder / "set"
    for number in range(12):
        write_image(pictures, f"train/a_07_00/blur/{number:02d}.png", image(1, 64, 64))
        write_image(pictures, f"train/a_07_00/sharp/{number:02d}.png", image(1, 64, 65))
    write_image(pictures, "train/a_07_00/blur/12.png", image(1, 64, 64))
    source = {"kind": "folder", "layout": "gopro", "folder": {"path": str(pictures)}}
    settings = yaml.safe_dump({"deblur": {"source": source}})
    (project.folder / "conf/local/parameters_deblur.yml").write_text(settings)
    refused = project.run("kedro", "run", "--pipeline=train_deblur", check=False)
    assert refused.returncode == 1
    assert "13 pairs do not fit: train/a_07_00/blur/12.png has no partner; " in refused.stderr
    assert "train/a_07_00/blur/08.png is 64x64, its partner 65x64 and 3 more" in refused.stderr
    assert not (project.folder / "data/03_primary").exists()


def test_all_pairs_that_do_not_fit_are_listed_in_one_message(tmp_path):
    folder = gopro_like(tmp_path / "set")
    (folder / "train/GOPR0372_07_00/sharp/000001.png").unlink()
    (folder / "test/GOPR0384_11_00/blur/000002.png").unlink()
    write_image(folder, "train/GOPR0372_07_00/sharp/000002.png", image(3, 8, 9))
    raw = load_raw(tmp_path, kind="folder", layout="gopro", folder={"path": str(folder)})
    with pytest.raises(DatasetError) as error:
        pairs_dataset(tmp_path).save(synthesize_blur(raw, BlurParameters()))
    for part in (
        "3 pairs do not fit",
        "train/GOPR0372_07_00/blur/000001.png has no partner",
        "test/GOPR0384_11_00/sharp/000002.png has no partner",
        "train/GOPR0372_07_00/blur/000002.png is 8x8, its partner 9x8",
    ):
        assert part in str(error.value)
    assert not (tmp_path / "data" / "pairs" / "set").exists()


def test_many_offenders_are_counted_after_the_first_ten(tmp_path):
    for number in range(14):
        write_image(tmp_path / "set", f"input/{number}.png", image(1))
    write_image(tmp_path / "set", "target/0.png", image(1))
    raw = load_raw(tmp_path, kind="folder", layout="flat", folder={"path": str(tmp_path / "set")})
    with pytest.raises(DatasetError, match=r"13 pairs do not fit: .* and 3 more"):
        pairs_dataset(tmp_path).save(synthesize_blur(raw, BlurParameters()))
