"""The report's page in a real browser, with mouse and keyboard."""

import re
import shutil
import subprocess

import pytest

from idemnet.reporting.report import make_report

from ..browser import start_browser
from ..conftest import REPOSITORY, environment
from ..reporting.example_results import make_evaluation, make_trained

STAGE = ".stage"
CLIP = "getComputedStyle(document.querySelector('.stage img.left')).clipPath"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    evaluation = make_evaluation(size=(240, 320), iterations=6, name="a_rather_long_scene_name")
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_bytes(make_report(evaluation, make_trained(), [])["report.html"])
    return path.as_uri()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with start_browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


def hidden_part(page) -> float:
    """How much of the left picture is clipped away, in percent."""
    [share] = re.findall(r"([\d.]+)%", page.run(CLIP))
    return float(share)


@pytest.mark.parametrize("width", [360, 1400])
def test_the_slider_follows_the_mouse_without_an_error(page, address, width):
    page.open(address, width)
    x, y, across = page.middle_of(STAGE)
    assert hidden_part(page) == pytest.approx(50, abs=1)
    page.drag((x, y), (x + across / 4, y))
    assert hidden_part(page) == pytest.approx(25, abs=2)
    assert page.complaints == []


def test_the_keyboard_moves_the_border_and_chooses_pictures(page, address):
    page.open(address, 1400)
    page.run("document.querySelector('.stage input').focus()")
    page.press("ArrowRight", 39)
    assert hidden_part(page) < 50
    page.run("document.querySelector('.choices[data-side=right] input:checked').focus()")
    page.press("ArrowRight", 39)
    kind = "document.querySelector('.stage img.right').dataset.kind"
    assert page.run(kind) == "clean"
    assert page.run("document.querySelector('.corner.right').textContent") == "sharp"
    assert page.run("getComputedStyle(document.querySelector('.stage img.right')).visibility") == (
        "visible"
    )
    assert (
        page.run("document.querySelectorAll('.sample:first-of-type .stage img.right').length") == 1
    )
    assert page.complaints == []


def test_a_phone_scrolls_only_downwards(page, address):
    page.open(address, 360)
    assert page.run("document.documentElement.scrollWidth") == 360
    wide = (
        "[...document.querySelectorAll('body *')].filter(one => !one.closest('.scroll') &&"
        " one.getBoundingClientRect().right > 361).map(one => one.outerHTML.slice(0, 80))"
    )
    assert page.run(wide) == []


def test_every_picture_can_be_decoded(page, address):
    page.open(address, 1400)
    broken = "[...document.images].filter(one => !one.complete || !one.naturalWidth).length"
    assert page.run("document.images.length") > 20
    assert page.run(broken) == 0


def test_on_paper_a_slider_is_a_pair_side_by_side(page, address):
    page.open(address, 794)
    page.call("Emulation.setEmulatedMedia", media="print")
    try:
        boxes = page.run(
            "['left', 'right'].map(side => document.querySelector(`.stage img.${side}`)"
            ".getBoundingClientRect()).map(box => [box.left, box.right, box.top])"
        )
        clip = page.run(CLIP)
        across = page.run("document.documentElement.scrollWidth")
    finally:
        page.call("Emulation.setEmulatedMedia", media="")
    (_, left_end, top), (right_start, _, right_top) = boxes
    assert left_end < right_start
    assert top == right_top
    assert clip == "none"
    assert across == 794


def test_what_dvc_plots_is_readable_offline_and_not_for_git(page, tmp_path):
    place = tmp_path / "project"
    place.mkdir()
    for command in (["git", "init", "-q"], ["dvc", "init", "-q"]):
        subprocess.run(command, cwd=place, env=environment(), check=True)
    for name in (".gitignore", ".dvc/config", ".dvc/plots.html"):
        shutil.copy(REPOSITORY / name, place / name)
    (place / "repeat.csv").write_text("pass,psnr\n1,27.31\n2,27.28\n")
    (place / "dvc.yaml").write_text(
        "plots: [{repeat.csv: {x: pass, y: psnr, title: Repeat curve}}]\n"
    )
    subprocess.run(["dvc", "plots", "show"], cwd=place, env=environment(), check=True)
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=place, capture_output=True, text=True, check=True
    )
    assert "dvc_plots" not in status.stdout
    page.call("Network.setBlockedURLs", urls=["http*"])
    page.open((place / "dvc_plots/index.html").as_uri(), 1000)
    page.call("Network.setBlockedURLs", urls=[])
    page.complaints.clear()  # from blocked requests
    words = page.run("document.body.innerText")
    assert "Curves need the internet" in words
    for shown in ("Repeat curve", "27.31", "27.28"):
        assert shown in words
