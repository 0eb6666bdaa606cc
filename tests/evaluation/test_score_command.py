"""`idemnet score`: any two folders, every problem listed, all or nothing."""

import json
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from idemnet.commands.main import main
from idemnet.evaluation.parallel import map_in_threads

from ..conftest import BIN, environment


def picture(number: int, height: int = 24, width: int = 32) -> np.ndarray:
    rng = np.random.default_rng(number)
    return np.repeat(rng.integers(0, 256, (height, width // 4, 3)), 4, axis=1).astype(np.uint8)


@pytest.fixture
def folders(tmp_path):
    """Return restored and reference: three pairs, one in a folder below, two formats."""
    restored, reference = tmp_path / "restored", tmp_path / "reference"
    for number, name in enumerate(("a", "b", "below/a")):
        save(reference / f"{name}.png", picture(number))
        worse = np.clip(picture(number).astype(int) + number + 1, 0, 255).astype(np.uint8)
        save(restored / f"{name}.{'bmp' if name == 'b' else 'png'}", worse)
    return restored, reference


def save(path, image) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)


def score(*arguments, protocol="rgb"):
    command = ["score", *map(str, arguments), "--protocol", protocol]
    return CliRunner().invoke(main, command)


def scores(*arguments, protocol="rgb"):
    result = score(*arguments, "--json", protocol=protocol)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_installed_command_scores_two_folders(folders):
    """As a user would."""
    command = [BIN / "idemnet", "score", *folders, "--protocol", "gopro", "--json"]
    said = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    figures = json.loads(said.stdout)
    assert figures["protocol"] == "gopro" and "RGB rounded to 8 bits" in figures["description"]
    assert figures["images"] == 3
    assert [one["name"] for one in figures["each"]] == ["a", "b", "below/a"]
    for measure in ("psnr", "ssim", "ssim_matlab"):
        mean = np.mean([one[measure] for one in figures["each"]])
        assert figures["mean"][measure] == pytest.approx(mean)


def test_the_installed_command_rejects_with_status_two_and_no_traceback(folders):
    (folders[0] / "b.bmp").unlink()
    command = [BIN / "idemnet", "score", *folders, "--protocol", "gopro"]
    said = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert said.returncode == 2 and said.stdout == ""
    assert said.stderr == (
        "Error: nothing was scored, problems found: 1\n"
        f"  {folders[1] / 'b.png'}: has no restored image\n"
    )


def test_text_names_protocol_and_number_of_images(folders):
    lines = score(*folders, protocol="rain").stdout.splitlines()
    assert lines[0].split() == ["psnr", "ssim"]
    assert lines[1].startswith("mean of 3 images")
    assert lines[2].startswith("rain - Deraining: MATLAB's Y")
    assert len(lines) == 3


def test_each_adds_a_line_for_every_image(folders):
    lines = score(*folders, "--each").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["a", "b", "below/a"]
    figures = scores(*folders)["each"]
    shown = [line.split()[1:] for line in lines[1:4]]
    assert shown == [
        [f"{one['psnr']:.2f}", f"{one['ssim']:.4f}", f"{one['ssim_matlab']:.4f}"] for one in figures
    ]


def test_every_fault_is_listed_and_nothing_scored(folders):
    restored, reference = folders
    save(restored / "only.png", picture(5))
    save(reference / "missing.png", picture(5))
    save(restored / "twice.png", picture(6))
    save(restored / "twice.webp", picture(6))
    save(reference / "twice.png", picture(6))
    save(restored / "small.png", picture(7, 20, 32))
    save(reference / "small.png", picture(7))
    for folder in folders:
        save(folder / "torn.png", picture(8))
    torn = restored / "torn.png"
    torn.write_bytes(torn.read_bytes()[:-40])
    (reference / "a.png").write_bytes(b"no image")
    result = score(*folders)
    assert result.exit_code == 2 and result.stdout == ""
    faults = result.stderr.splitlines()
    assert faults[0] == "Error: nothing was scored, problems found: 6"
    assert sorted(faults[1:]) == sorted(
        f"  {fault}"
        for fault in (
            f"{restored / 'only.png'}: has no reference",
            f"{reference / 'missing.png'}: has no restored image",
            f"{restored / 'twice.png'}, {restored / 'twice.webp'}: have the same stem",
            f"{restored / 'small.png'}: is 32x20, its reference 32x24",
            f"{torn}: is truncated, or has data after its end",
            f"{reference / 'a.png'}: is not a PNG image",
        )
    )


def test_images_too_small_to_score_are_listed(folders):
    for folder in folders:
        save(folder / "tiny.png", picture(9, 8, 32))
    result = score(*folders)
    assert result.exit_code == 2
    assert f"{folders[0] / 'tiny.png'}: 32x8 pixels are fewer than SSIM's" in result.stderr


def test_two_files_are_a_pair_whatever_they_are_called(folders):
    figures = scores(folders[0] / "a.png", folders[1] / "b.png")
    assert figures["images"] == 1 and figures["mean"]["psnr"] < 15
    mixed = score(folders[0] / "a.png", folders[1])
    assert mixed.exit_code == 2 and "two folders, or two files" in mixed.stderr


def test_a_folder_without_images_is_rejected(folders, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("x")
    (tmp_path / "empty" / ".hidden.png").write_text("x")
    result = score(tmp_path / "empty", folders[1])
    assert result.exit_code == 2 and "contains no images" in result.stderr


def test_identical_folders_count_as_100_decibels(folders):
    assert scores(folders[1], folders[1])["mean"] == pytest.approx(
        {"psnr": 100, "ssim": 1, "ssim_matlab": 1}, abs=1e-5
    )


def test_grey_is_three_equal_channels_and_sixteen_bits_are_rounded(tmp_path):
    grey = picture(1)[..., 0]
    save(tmp_path / "grey.png", grey)
    save(tmp_path / "rgb.png", np.repeat(grey[..., None], 3, axis=2))
    save(tmp_path / "deep.png", grey.astype(np.uint16) * 257 + 100)
    for name in ("grey", "deep"):
        assert scores(tmp_path / f"{name}.png", tmp_path / "rgb.png")["mean"]["psnr"] == 100


def test_a_border_of_the_reference_is_cropped_only_when_asked_for(tmp_path):
    clear = picture(3, 68, 84)
    save(tmp_path / "clear.png", clear)
    save(tmp_path / "dehazed.png", clear[10:-10, 10:-10])
    pair = tmp_path / "dehazed.png", tmp_path / "clear.png"
    refused = score(*pair, protocol="griddehaze")
    assert refused.exit_code == 2
    assert "is 64x48, its reference 84x68" in refused.stderr
    assert "--crop-reference 10" in refused.stderr
    assert score(*pair, "--crop-reference", 9, protocol="griddehaze").exit_code == 2
    for protocol in ("rgb", "griddehaze"):
        figures = scores(*pair, "--crop-reference", 10, protocol=protocol)
        assert figures["mean"]["psnr"] == 100
    other = score(*pair, "--crop-reference", 10, protocol="gopro")
    assert other.exit_code == 2 and "--crop-reference is for" in other.stderr


def test_a_protocol_of_another_task_is_rejected_unless_forced(folders):
    refused = score(*folders, "--task", "deblur", protocol="rain")
    assert refused.exit_code == 2 and refused.stdout == ""
    assert "gopro or realblur or rgb" in refused.stderr and "--force" in refused.stderr
    assert score(*folders, "--task", "deblur", "--force", protocol="rain").exit_code == 0
    assert score(*folders, "--task", "derain", protocol="rain").exit_code == 0


def test_opencv_starts_no_threads_beside_ours():
    import cv2

    before = cv2.getNumThreads()
    assert set(map_in_threads(lambda _: cv2.getNumThreads(), range(8), 2)) == {1}
    assert cv2.getNumThreads() == before
