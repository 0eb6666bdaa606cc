"""Restore pictures by command, by pipeline and from Python, keeping their format."""

import io
import json
import os
import re
import resource
import shutil
import signal
import sys

import av
import cv2
import numpy as np
import pytest
import torch
from PIL import ExifTags
from PIL import Image as PillowImage

from idemnet import Restorer
from idemnet.errors import BadInputError
from idemnet.inference.video import PART
from idemnet.inference.weights import TrainedModel, read_weights, write_weights
from idemnet.media.image_files import register_heif
from idemnet.models import build_network

from ..conftest import Project
from ..fetch.downloads import wait_until
from ..inference.test_video import film, frames_of

RNG = np.random.default_rng(1)
OWN = ("--weights", "data/06_models/deblur/builtin")
"""Not those that are shipped."""
PEAK = [
    sys.executable, "-c",
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)",
]  # fmt: skip
"""Before a command: says at the end how many kB it took."""


@pytest.fixture
def trained_copy(trained, make_project) -> Project:
    project = make_project("copy")
    shutil.copytree(trained.folder / "data", project.folder / "data")
    return project


@pytest.fixture
def restorer(trained) -> Restorer:
    return Restorer.load(trained.folder / "data/06_models/deblur/builtin", device="cpu")


def picture(path, size=(20, 30), **options) -> np.ndarray:
    path.parent.mkdir(parents=True, exist_ok=True)
    array = RNG.integers(0, 256, (*size, 3), np.uint8)
    PillowImage.fromarray(array).save(path, **options)
    return array


def opened(path) -> PillowImage.Image:
    return PillowImage.open(io.BytesIO(path.read_bytes()))


def expected(project: Project, array: np.ndarray) -> np.ndarray:
    """Restore with nothing but torch."""
    weights, card = read_weights(
        project.folder / "data/06_models/deblur/builtin/weights.safetensors"
    )
    model = build_network(card["architecture"], card["arguments"]).eval()
    model.load_state_dict(weights)
    with torch.no_grad():
        image = model(torch.from_numpy(array).permute(2, 0, 1)[None].float() / 255)
    return (image[0].clamp(0, 1) * 255).round().byte().permute(1, 2, 0).numpy()


def test_a_file_is_restored_beside_itself(trained_copy):
    array = picture(trained_copy.folder / "photo.png")
    result = trained_copy.run("idemnet", "restore", "photo.png", *OWN)
    assert result.stdout == "photo_restored.png\n"
    restored = np.asarray(opened(trained_copy.folder / "photo_restored.png"))
    wanted = expected(trained_copy, array)
    assert (wanted != array).any()
    assert np.abs(restored.astype(int) - wanted).max() <= 1
    before = (trained_copy.folder / "photo_restored.png").stat().st_mtime_ns
    again = trained_copy.run("idemnet", "restore", "photo.png")
    assert again.stdout == "skipped 1 existing result (use --force)\n"
    assert (trained_copy.folder / "photo_restored.png").stat().st_mtime_ns == before


def test_without_a_project_it_restores_with_what_is_shipped(project, tmp_path):
    array = picture(tmp_path / "album/photo.png")
    project.folder = tmp_path / "album"
    project.run("idemnet", "restore", "photo.png")
    restored = np.asarray(opened(tmp_path / "album/photo_restored.png"))
    assert np.abs(restored.astype(int) - Restorer.load("deblur")(array)).max() <= 1


def test_a_folder_keeps_its_structure_and_one_bad_file_stops_no_other(trained_copy):
    exif = PillowImage.Exif()
    exif[ExifTags.Base.Artist] = "somebody"
    picture(trained_copy.folder / "album/a.jpg", exif=exif)
    picture(trained_copy.folder / "album/deep/er/b.png", size=(1, 1))
    film(trained_copy.folder / "album/deep/clip.mkv", pixels="yuv420p10le")
    (trained_copy.folder / "album/bad.png").write_bytes(b"no picture")
    result = trained_copy.run("idemnet", "restore", "album/", "-o", "mended/", check=False)
    assert result.returncode == 1
    assert "3 of 4 restored, in mended\n" in result.stdout
    assert result.stderr.splitlines()[-1] == "Error: album/bad.png: is not a PNG image"
    back = opened(trained_copy.folder / "mended/a.jpg")
    assert back.getexif()[ExifTags.Base.Artist] == "somebody"
    assert opened(trained_copy.folder / "mended/deep/er/b.png").size == (1, 1)
    assert len(frames_of(trained_copy.folder / "mended/deep/clip.mkv")) == 5


def test_results_of_earlier_runs_are_never_inputs(project, tmp_path):
    """In the folder one is in; then from below it, when results lie in the tree, too."""
    album = tmp_path / "home/album"
    for name in ("photo.png", "sub/other.png"):
        picture(album / name)
    (album / "notes.txt").touch()
    project.folder = album
    first = project.run("idemnet", "restore", ".", "-o", "mended")
    assert "skipped 1 .txt\n" in first.stdout
    assert "2 of 2 restored, in mended\n" in first.stdout
    second = project.run("idemnet", "restore", ".")
    assert "skipped 2 results of earlier runs, 1 .txt\n" in second.stdout
    assert f"2 of 2 restored, in {tmp_path / 'home/album_restored'}\n" in second.stdout
    third = project.run("idemnet", "restore", "..")
    assert "skipped 4 results of earlier runs, 1 .txt\n" in third.stdout
    folders = ("album", "album/mended", "album_restored", "../home_restored/album")
    for folder in folders:
        place = tmp_path / "home" / folder
        assert {path.name for path in place.iterdir() if path.suffix == ".png"} == {"photo.png"}
        assert [path.name for path in (place / "sub").iterdir()] == ["other.png"]
    made = [path for place in tmp_path.glob("home*") for path in place.rglob("*.png")]
    assert len(made) == 2 * len(folders)


def test_phones_printers_and_the_web_are_read(project, tmp_path):
    """HEIC, AVIF and CMYK come back in their format, of a GIF the first frame as PNG."""
    register_heif()
    album = tmp_path / "album"
    picture(album / "phone.heic", size=(32, 48), format="HEIF")
    picture(album / "web.avif", size=(32, 48))
    array = RNG.integers(0, 256, (32, 48, 3), np.uint8)
    PillowImage.fromarray(array).convert("CMYK").save(album / "print.jpg")
    frames = [PillowImage.fromarray(one).quantize(16) for one in (array, array[::-1])]
    frames[0].save(album / "cat.gif", save_all=True, append_images=frames[1:])
    project.folder = album
    said = project.run("idemnet", "restore", ".", "-o", "../out").stdout
    assert "4 of 4 restored" in said
    assert "CMYK becomes RGB: print.jpg\n" in said
    assert "the first of 2 frames is restored: cat.gif\n" in said
    found = {path.name: opened(path) for path in (tmp_path / "out").iterdir() if path.suffix}
    assert {name: (one.format, one.mode, one.size) for name, one in found.items()} == {
        "phone.heic": ("HEIF", "RGB", (48, 32)),
        "web.avif": ("AVIF", "RGB", (48, 32)),
        "print.jpg": ("JPEG", "RGB", (48, 32)),
        "cat.png": ("PNG", "RGB", (48, 32)),
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.png"], "nowhere.png: not found"),
        (
            ["photo.png", "-o", "photo.png"],
            "photo.png: is an input, and inputs are never overwritten",
        ),
        (["photo.png", "--weights", "none.safetensors"], "none.safetensors: not found"),
        (["notes.txt"], "notes.txt: unsupported format '.txt', must be one of"),
        (["one/photo.png", "two/photo.png", "-o", "out"], "would both become out/photo.png"),
    ],
)
def test_what_cannot_be_done_is_reported_in_one_sentence(trained_copy, arguments, said):
    for name in ("photo.png", "one/photo.png", "two/photo.png"):
        picture(trained_copy.folder / name)
    (trained_copy.folder / "notes.txt").write_text("x")
    before = trained_copy.bytes_below(".")
    result = trained_copy.run("idemnet", "restore", *arguments, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("Error: ")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert trained_copy.bytes_below(".") == before


def test_the_pipeline_restores_what_lies_in_the_inbox(trained_copy):
    inbox = trained_copy.folder / "data/01_raw/inbox"
    array = picture(inbox / "holiday/sea.png")
    trained_copy.run("kedro", "run", "--pipeline=restore_deblur")
    place = trained_copy.folder / "data/07_model_output/restored/deblur/builtin"
    restored = np.asarray(opened(place / "holiday/sea.png"))
    assert np.abs(restored.astype(int) - expected(trained_copy, array)).max() <= 1
    again = trained_copy.run("kedro", "run", "--pipeline=restore_deblur")
    assert "unchanged, nothing to do" in again.stdout
    shutil.rmtree(inbox)
    empty = trained_copy.run("kedro", "run", "--pipeline=restore_deblur", check=False)
    assert empty.returncode == 1
    assert "data/01_raw/inbox contains no pictures" in empty.stderr


def test_python_gives_back_what_it_is_given(trained, restorer):
    array = RNG.integers(0, 256, (18, 22, 3), np.uint8)
    wanted = expected(trained, array).astype(int)
    assert np.abs(restorer(array).astype(int) - wanted).max() <= 1
    batch = restorer(np.stack([array, array[::-1]]))
    assert (batch.shape, batch.dtype) == ((2, 18, 22, 3), np.uint8)
    assert (batch[0] == restorer(array)).all()
    image = restorer(PillowImage.fromarray(array))
    assert (np.asarray(image) == restorer(array)).all()
    tensor = torch.from_numpy(array).permute(2, 0, 1).float() / 255
    assert np.abs(restorer(tensor).permute(1, 2, 0).numpy() * 255 - wanted).max() <= 1
    assert restorer(tensor[None]).shape == (1, 3, 18, 22)
    deep = restorer(array.astype(np.uint16) * 257)
    assert deep.dtype == np.uint16
    assert np.abs(deep / 257 - wanted).max() <= 1
    grey = restorer(array[:, :, 0])
    assert (grey.shape, grey.dtype) == ((18, 22), np.uint8)
    alpha = np.dstack([array, array[:, :, 0]])
    assert (restorer(alpha)[:, :, 3] == array[:, :, 0]).all()


def test_python_takes_lists_of_pictures_of_any_size_and_paths(restorer, tmp_path):
    large, small = (RNG.integers(0, 256, (*size, 3), np.uint8) for size in ((18, 22), (7, 9)))
    images = [PillowImage.fromarray(large), PillowImage.fromarray(small).convert("L")]
    images[0].info["icc_profile"] = b"profile"
    back = restorer(images)
    assert [(type(one), one.mode, one.size) for one in back] == [
        (PillowImage.Image, "RGB", (22, 18)), (PillowImage.Image, "L", (9, 7)),
    ]  # fmt: skip
    assert (np.asarray(back[0]) == restorer(large)).all()
    assert back[0].info["icc_profile"] == b"profile"
    arrays = restorer([large, small])
    assert all((a == restorer(b)).all() for a, b in zip(arrays, (large, small), strict=True))
    tensors = restorer([torch.rand(3, 8, 9), torch.rand(3, 5, 4)])
    assert [tuple(one.shape) for one in tensors] == [(3, 8, 9), (3, 5, 4)]
    exif = PillowImage.Exif()
    exif[ExifTags.Base.Orientation] = 6
    images[0].save(tmp_path / "a.png", exif=exif)
    for path in (tmp_path / "a.png", str(tmp_path / "a.png")):
        assert (np.asarray(restorer(path)) == restorer(np.rot90(large, -1))).all()
    assert [one.size for one in restorer([tmp_path / "a.png"])] == [(18, 22)]


def test_python_shows_in_a_line_what_it_has_loaded(restorer):
    assert repr(restorer) == "Restorer(deblur, idempotent, passes=1, device=cpu)"


def test_python_says_what_it_cannot_restore(restorer):
    for wrong, said in (
        (np.zeros((3, 4, 5), np.uint8), "must be"),
        (np.zeros((4, 5, 3), np.int64), "must be uint8"),
        (np.zeros((0, 5, 3), np.uint8), r"an array of shape \(0, 5, 3\) holds no pixels"),
        (np.zeros((0, 8, 8, 3), np.uint8), r"an array of shape \(0, 8, 8, 3\) holds no pixels"),
        (torch.rand(0, 3, 8, 8), r"a tensor of shape \(0, 3, 8, 8\) holds no pixels"),
        (torch.rand(3, 0, 8), r"a tensor of shape \(3, 0, 8\) holds no pixels"),
        (torch.zeros(4, 5, 3), "must be"),
        (PillowImage.new("CMYK", (4, 4)), "convert to RGB"),
        (np.full((4, 5, 3), 1.5), "floats must be from 0 to 1, these are from 1.5 to 1.5: divide"),
        (np.full((4, 5, 3), 255, np.float32), "from 255 to 255"),
        (torch.full((3, 4, 5), 255.0), "from 255 to 255"),
        (torch.linspace(-1, 1, 60).reshape(3, 4, 5), "from -1 to 1"),
        ("nowhere.jpg", "nowhere.jpg: No such file"),
        ([np.zeros((4, 5, 3), np.uint8), 7], "or a list of them, not int"),
    ):
        with pytest.raises(BadInputError, match=said):
            restorer(wrong)


def test_weights_come_from_mlflow_by_name_and_alias(trained_copy, trained):
    shutil.copy(trained.folder / "mlflow.db", trained_copy.folder)
    shutil.copytree(trained.folder / "mlruns", trained_copy.folder / "mlruns")
    picture(trained_copy.folder / "photo.png")
    named = ["idemnet", "restore", "photo.png", "--weights", "mlflow:idemnet-deblur@champion"]
    trained_copy.run(*named)
    content = (trained_copy.folder / "photo_restored.png").read_bytes()
    trained_copy.run("idemnet", "restore", "photo.png", "--force", *OWN)
    assert (trained_copy.folder / "photo_restored.png").read_bytes() == content
    named[-1] = "mlflow:idemnet-deblur@nobody"
    result = trained_copy.run(*named, "--force", check=False)
    assert result.returncode == 2
    said = f"Error: mlflow:idemnet-deblur@nobody: not found in sqlite:///{trained_copy.folder}"
    assert result.stderr.startswith(said)


def test_a_model_of_mlflow_outside_a_project_is_not_searched_for_long(project, tmp_path):
    """What the command computes takes less than 5 seconds, on a machine of any speed."""
    picture(tmp_path / "album/photo.png")
    project.folder = tmp_path / "album"
    command = ["idemnet", "restore", "photo.png", "--weights", "mlflow:idemnet-deblur@champion"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = project.run(*command, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 2
    assert result.stderr == (
        f"Error: mlflow:idemnet-deblur@champion: no MLflow store at {tmp_path}/album/mlflow.db: "
        "run this in the project's folder, or set MLFLOW_TRACKING_URI\n"
    )
    assert [path.name for path in (tmp_path / "album").iterdir()] == ["photo.png"]
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5


def test_explained_is_what_each_iteration_did(trained_copy, restorer):
    array = picture(trained_copy.folder / "photo.png")
    result = trained_copy.run("idemnet", "restore", "photo.png", "--explain", *OWN)
    sentence, target = result.stdout.splitlines()
    assert re.fullmatch(
        r"photo\.png: sharpness [\d.]+ -> [\d.]+ \([-+]\d+%\), changed by .*"
        rf"\(computed in {restorer.precision}\)",
        sentence,
    )
    assert target == "photo_restored.png"
    folder = trained_copy.folder / "photo_restored_explained"
    assert sorted(path.name for path in folder.iterdir()) == [
        "difference.png", "explanation.json", "iteration_0.png", "iteration_1.png",
    ]  # fmt: skip
    assert (np.asarray(opened(folder / "iteration_0.png")) == array).all()
    restored = np.asarray(opened(trained_copy.folder / target))
    assert (np.asarray(opened(folder / "iteration_1.png")) == restored).all()
    said = json.loads((folder / "explanation.json").read_text())
    assert said["precision"] == restorer.precision
    assert said["change"] == pytest.approx(np.abs(restored.astype(int) - array).mean())
    assert (restorer.iterations(array)[-1] == restorer(array)).all()


def test_a_picture_that_hardly_changed_is_named(trained_copy):
    PillowImage.new("RGB", (40, 30), (90, 120, 60)).save(trained_copy.folder / "flat.png")
    weights = trained_copy.folder / "data/06_models/deblur/builtin"
    tensors, card = read_weights(weights / "weights.safetensors")
    still = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
    write_weights(trained_copy.folder / "still", TrainedModel(still, card, ()))
    command = ["idemnet", "restore", "flat.png", "--weights", "still"]
    assert trained_copy.run(*command).stdout == (
        "flat.png: changed by 0.00 of 255 on average, less than can be seen\nflat_restored.png\n"
    )
    explained = trained_copy.run(*command, "--explain", "--force").stdout
    assert "changed by 0.00 of 255 on average, less than can be seen: " in explained
    picture(trained_copy.folder / "noise.png")
    both = trained_copy.run(*command, "noise.png", "--force").stdout
    said = (
        "2 of 2 changed by less than can be seen (mean change, of 255): flat.png (0.00), noise.png"
    )
    assert said in both


def test_how_far_a_picture_is_can_be_read_in_a_log(project):
    """Of its tiles, as lines where there is no terminal; here without a pause between them."""
    picture(project.folder / "large.png", size=(600, 700))
    now = "from idemnet.system import progress; progress.SECONDS_BETWEEN_LINES = 0"
    start = "from idemnet.commands.main import main; main()"
    command = [sys.executable, "-c", f"{now}; {start}", "restore", "large.png"]
    lines = project.run(*command).stderr.splitlines()
    tiles = [re.fullmatch(r"restore large\.png, tile (\d) of (\d): ([01]) of 1, (.+)", line)
             for line in lines[:-1]]  # fmt: skip
    count = int(tiles[0][2])
    assert count > 1
    assert [int(one[1]) for one in tiles] == list(range(1, count + 1))
    assert [one[3] for one in tiles] == [*"0" * (count - 1), "1"]
    assert all(re.fullmatch(r"[\d.]+(/s| s each), about \d+ s left", one[4]) for one in tiles)


def test_a_video_cannot_be_explained(project):
    film(project.folder / "clip.mp4")
    result = project.run("idemnet", "restore", "clip.mp4", "--explain", check=False)
    assert result.returncode == 2
    assert "Error: --explain is for pictures: clip.mp4 is a video." in result.stderr
    assert not (project.folder / "clip_restored.mp4").exists()


def test_a_video_is_restored_and_resumed_after_a_kill(trained_copy):
    film(trained_copy.folder / "clip.mp4", 2 * PART + 4, size=(120, 160))
    parts = trained_copy.folder / ".clip_restored.mp4.parts"
    running = trained_copy.start("idemnet", "restore", "clip.mp4")
    wait_until(lambda: len(list(parts.glob("*.nut"))) == 1)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    running.stdout.close()
    [first] = parts.glob("*.nut")
    content, written = first.read_bytes(), first.stat().st_mtime_ns
    assert not (trained_copy.folder / "clip_restored.mp4").exists()
    again = trained_copy.start("idemnet", "restore", "clip.mp4")
    wait_until(lambda: len(list(parts.glob("*.nut"))) == 2)
    assert (first.read_bytes(), first.stat().st_mtime_ns) == (content, written)
    output, _ = again.communicate(timeout=300)
    assert again.returncode == 0, output
    with av.open(str(trained_copy.folder / "clip_restored.mp4")) as video:
        assert sum(1 for _ in video.decode(video=0)) == 2 * PART + 4
        assert len(video.streams.audio) == 1
    assert not parts.exists()


def test_memory_that_is_allowed_is_kept_or_the_picture_is_rejected(trained_copy):
    picture(trained_copy.folder / "large.png", size=(1500, 2500))
    result = trained_copy.run("idemnet", "restore", "large.png", "--memory", "100MB", check=False)
    assert result.returncode == 1
    said = r"large\.png: reading and writing 2500x1500 needs \d+ MB of memory, but only 100 MB"
    assert re.search(said, result.stderr)
    wrong = trained_copy.run("idemnet", "restore", "large.png", "--memory", "much", check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("Error: memory = 'much': ")
    command = [*PEAK, "idemnet", "restore", "large.png", "--memory", "700MB", *OWN]
    assert int(trained_copy.run(*command).stderr.split()[-1]) * 1024 < 700e6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["photo.jpg", "scan.png"])
def test_twenty_four_megapixels_need_no_large_machine(project, name):
    """4000x6000 on a machine with 4 GB: of 8 bits, and of 16 with transparency."""
    small = RNG.integers(0, 256, (200, 300, 4), np.uint8)
    large = cv2.resize(small, (6000, 4000), interpolation=cv2.INTER_CUBIC)
    grain = RNG.integers(0, 256, large.shape, np.uint8)
    pixels = large.astype(np.uint16) * 256 + grain if name == "scan.png" else large[:, :, :3]
    cv2.imwrite(str(project.folder / name), pixels)
    result = project.run(*PEAK, "idemnet", "restore", name, timeout=3600)
    assert int(result.stderr.split()[-1]) * 1024 < 3e9
    found = opened(project.folder / name.replace(".", "_restored."))
    assert found.size == (6000, 4000)
