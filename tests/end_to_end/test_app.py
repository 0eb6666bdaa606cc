"""The page of `idemnet app` in a real browser, from an upload to what is left on the disk."""

import re
import time
import urllib.request
from urllib.error import HTTPError

import cv2
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import ExifTags
from PIL import Image as PillowImage

from idemnet import Restorer
from idemnet.app.restoring import show_difference
from idemnet.app.serve import find_address
from idemnet.commands.main import main
from idemnet.errors import BadInputError
from idemnet.inference.weights import TrainedModel, write_weights
from idemnet.media.image_files import encode_png, png_chunk
from idemnet.models import IdempotentNet
from idemnet.parameters.network import IdempotentParameters

from ..app_client import serve_app
from ..browser import PATIENCE, start_browser

RNG = np.random.default_rng(2)
WEIGHTS = "data/06_models/deblur/builtin"
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/")
NOISE_OF_GRADIO = ("Method not implemented.", "upload_progress")
TAB, ENTER, LEFT, RIGHT = ("Tab", 9), ("Enter", 13), ("ArrowLeft", 37), ("ArrowRight", 39)
SPACE = (" ", 32)
FOCUSED = "(id => document.activeElement?.closest(id) !== null)"
SHOWN_STEP = "document.querySelector('#steps figure:not([hidden]) figcaption')?.textContent"


@pytest.fixture(scope="module")
def temporary(tmp_path_factory):
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def server(trained, temporary):
    """The program, which has said that it is ready; `address` is where."""
    process = trained.start("env", f"TMPDIR={temporary}", "idemnet", "app", "--compare", WEIGHTS)
    said = ""
    for line in process.stdout:
        said += line
        if found := ADDRESS.search(line):
            break
    assert found, said
    process.address = found[0]
    yield process
    process.terminate()
    process.wait(PATIENCE)
    process.stdout.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with start_browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(browser, server):
    """The page, just opened; whatever is done with it, nobody outside is asked for anything."""
    browser.requests.clear()
    open_page(browser, server, 1280)
    yield browser
    ours = (server.address, "data:", "blob:", "about:")
    assert [url for url in browser.requests if not url.startswith(ours)] == []
    complaints = [c for c in browser.complaints if not any(n in c for n in NOISE_OF_GRADIO)]
    assert complaints == []


def open_page(browser, server, width):
    browser.open(server.address, width)
    browser.wait_for("document.querySelector('#upload input[type=file]') !== null")
    browser.wait_for("document.querySelector('#restore') !== null")
    browser.wait_for("document.querySelector('#samples img')?.complete")
    browser.complaints.clear()  # of the page before, which was left while it waited for answers


def upload(page, path):
    page.upload("#upload input[type=file]", path)
    page.wait_for("document.querySelector('#preview img, #message .notice') !== null")


def restore(page):
    page.run("document.querySelector('#restore').click()")
    wait_for_result(page)


def wait_for_result(page):
    for shown in ("#changed img", "#before_after img.right", "#download"):
        page.wait_for(f"document.querySelector('{shown}') !== null")


def write_picture(path, size=(40, 60), **options):
    PillowImage.fromarray(RNG.integers(0, 256, (*size, 3), np.uint8)).save(path, **options)
    return path


def shown_share(page):
    """How much of the picture before is to be seen, as the browser lays it out."""
    clip = page.run("getComputedStyle(document.querySelector('#before_after img.left')).clipPath")
    [hidden] = re.findall(r"calc\(100% - ([\d.]+)%\)|inset\(0px ([\d.]+)%", clip)
    return float(hidden[0]) / 100 if hidden[0] else 1 - float(hidden[1]) / 100


def tab_to(page, selector):
    for _ in range(40):
        if page.run(f"{FOCUSED}({selector!r})"):
            return
        page.press(*TAB)
    raise AssertionError(f"{selector} is not reached with Tab")


def test_the_download_is_what_the_package_restores_with_all_that_came_along(
    page, trained, tmp_path
):
    array = RNG.integers(0, 65536, (45, 70, 4), np.uint16)
    exif = PillowImage.Exif()
    exif[ExifTags.Base.Artist] = "somebody"
    note = png_chunk(b"eXIf", exif.tobytes().removeprefix(b"Exif\0\0"))
    (tmp_path / "holiday.png").write_bytes(encode_png(array, note))
    upload(page, tmp_path / "holiday.png")
    restore(page)
    page.download_to(tmp_path / "downloads")
    page.run("document.querySelector('#download').click()")
    result = tmp_path / "downloads/holiday_restored.png"
    deadline = time.monotonic() + PATIENCE
    while not result.is_file() and time.monotonic() < deadline:
        time.sleep(0.05)
    restored = cv2.imread(str(result), cv2.IMREAD_UNCHANGED)[:, :, [2, 1, 0, 3]]
    wanted = Restorer.load("deblur", device="cpu")(array)
    assert restored.dtype == np.uint16
    assert (restored[:, :, :3] != array[:, :, :3]).any()
    assert (restored[:, :, 3] == array[:, :, 3]).all()
    assert np.abs(restored.astype(int) - wanted).max() <= 2  # threads may round otherwise
    with PillowImage.open(result) as image:
        assert image.getexif()[ExifTags.Base.Artist] == "somebody"


def test_the_line_between_before_and_after_follows_the_mouse(page, tmp_path):
    upload(page, write_picture(tmp_path / "a.jpg"))
    restore(page)
    assert shown_share(page) == pytest.approx(0.5, abs=0.02)
    x, y, across = page.middle_of("#before_after .stage")
    page.drag((x, y), (x + across / 4, y))
    assert shown_share(page) == pytest.approx(0.75, abs=0.03)


def test_at_100_percent_every_pixel_is_seen_and_the_border_stays_while_scrolling(
    page, server, tmp_path
):
    picture = write_picture(tmp_path / "wide.png", size=(600, 2200))  # shown smaller at first
    upload(page, picture)
    restore(page)
    left = "document.querySelector('#before_after img.left')"
    assert page.run(f"{left}.naturalWidth") == 2048
    page.run("document.querySelector('#zoom').click()")
    page.wait_for(f"{left}.complete && {left}.naturalWidth == 2200")
    assert page.run(f"{left}.getBoundingClientRect().width") == 2200
    address = page.run(f"{left}.src")
    assert address.startswith(server.address)
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(address) as answer, PillowImage.open(answer) as seen:
        assert (np.asarray(seen) == cv2.imread(str(picture))[:, :, ::-1]).all()

    page.run("document.querySelector('#before_after .pan').scrollTo(100, 50)")
    cut = (
        "getComputedStyle(document.querySelector('#before_after .stage')).getPropertyValue('--cut')"
    )
    _, _, across = page.middle_of("#before_after .stage")
    page.wait_for(f"Math.abs(parseFloat({cut}) - {100 + across / 2}) < 1")
    x, y, _ = page.middle_of("#before_after .stage")
    page.drag((x, y), (x - 30, y))
    page.wait_for(f"Math.abs(parseFloat({cut}) - {130 + across / 2}) < 1")  # the picture was moved

    page.run("document.querySelector('#zoom').click()")
    assert page.run(f"{left}.getBoundingClientRect().width") == pytest.approx(across, abs=1)


def test_a_single_iteration_has_no_slider(page, tmp_path):
    upload(page, write_picture(tmp_path / "a.png"))
    restore(page)
    assert page.run("document.querySelector('#step')?.offsetParent ?? null") is None
    assert page.run("document.body.innerText.includes('Iteration')") is False


def test_numbers_side_by_side_are_of_one_area(page, tmp_path):
    upload(page, write_picture(tmp_path / "large.png", size=(300, 400)))
    restore(page)
    page.wait_for("document.querySelector('#curve img') !== null")
    for place in ("#changed", "#curve"):
        words = page.run(f"document.querySelector('{place}').innerText")
        assert re.search(r"on the 256 x 256 pixels in the middle, .* of 255: .*\d\.\d\d\.", words)


def test_only_the_area_that_is_named_is_measured():
    black = np.zeros((300, 400, 3), np.uint8)
    framed = black.copy()
    framed[:22] = framed[-22:] = 255
    where = "on the 256 x 256 pixels in the middle"
    assert f"{where}, in grey levels of 255: 0.00." in show_difference(black, framed)
    small = black[:200, :100]
    words = show_difference(small, small + 2)
    assert "on the whole picture, in grey levels of 255: 2.00." in words


def test_iterations_are_scrubbed_and_curves_drawn(page, tmp_path):
    upload(page, write_picture(tmp_path / "a.png"))
    page.run("document.querySelector('#passes input[type=range]').focus()")
    page.press(*RIGHT)
    restore(page)
    page.wait_for(f"{SHOWN_STEP} === 'after iteration 1 of 1, pass 2 of 2'")
    page.run("document.querySelector('#step input[type=range]').focus()")
    page.press(*LEFT)
    page.wait_for(f"{SHOWN_STEP} === 'after iteration 1 of 1, pass 1 of 2'")
    page.press(*LEFT)
    page.wait_for(f"{SHOWN_STEP} === 'original'")
    assert "Magnified " in page.run("document.querySelector('#changed').innerText")
    page.wait_for("document.querySelector('#curve img')?.naturalWidth > 0")
    words = page.run("document.querySelector('#curve').innerText")
    assert re.search(r"in use, with constraint: [\d.]+; compared, with constraint: [\d.]+", words)


def test_what_cannot_be_restored_is_reported_on_the_page(page, server, tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no picture")
    PillowImage.new("1", (6000, 5000)).save(tmp_path / "large.png")
    (tmp_path / "<b>notes.txt").write_text("x")
    for name, said in (
        ("broken.png", "broken.png: is not a PNG image"),
        ("large.png", "large.png: has 30.0 megapixels, more than this page's limit of 24"),
        ("<b>notes.txt", "notes.txt: unsupported format '.txt', must be one of .avif, .bmp"),
    ):
        upload(page, tmp_path / name)
        assert said in page.run("document.querySelector('#message').innerText")
        open_page(page, server, 1280)
    page.run("document.querySelector('#restore').click()")
    page.wait_for("document.querySelector('#message')?.innerText == 'Choose a picture first.'")
    with (tmp_path / "heavy.png").open("wb") as file:
        file.truncate(65 * 2**20)
    page.upload("#upload input[type=file]", tmp_path / "heavy.png")
    page.wait_for("document.body.innerText.includes('maximum allowed size of 64.0 Mb')")


def test_a_phone_scrolls_only_downwards(page, server, tmp_path):
    open_page(page, server, 360)
    upload(page, write_picture(tmp_path / "wide.png", size=(30, 900)))
    restore(page)
    page.wait_for("document.querySelector('#curve img') !== null")
    assert page.run("document.documentElement.scrollWidth") == 360
    wide = (
        "[...document.querySelectorAll('body *')].filter("
        "one => one.getBoundingClientRect().right > 361).map(one => one.outerHTML.slice(0, 80))"
    )
    assert page.run(wide) == []
    page.run("document.querySelector('#zoom').click()")
    page.wait_for("document.querySelector('#before_after .pan').scrollWidth == 900")
    assert page.run("document.documentElement.scrollWidth") == 360


def test_the_page_works_with_the_keyboard(page):
    tab_to(page, "#samples button")
    page.press(*ENTER)
    page.wait_for("document.querySelector('#preview img') !== null")
    tab_to(page, "#passes input[type=range]")
    page.press(*RIGHT)
    tab_to(page, "#restore")
    page.press(*ENTER)
    wait_for_result(page)
    page.wait_for("document.querySelector('#step input') !== null")
    tab_to(page, "#before_after input")
    for _ in range(10):
        page.press(*LEFT)
    assert shown_share(page) == pytest.approx(0.4, abs=0.001)
    tab_to(page, "#zoom")
    page.press(*SPACE)
    page.wait_for("document.querySelector('#before_after .stage.actual') !== null")
    tab_to(page, "#download")
    tab_to(page, "#step input[type=range]")
    page.press(*LEFT)
    page.press(*LEFT)
    page.wait_for(f"{SHOWN_STEP} === 'original'")


@pytest.mark.parametrize(
    ("path", "host", "refused"),
    [
        ("gradio_api/file=/etc/passwd", None, 403),
        ("gradio_api/file=../../../../etc/passwd", None, 403),
        ("gradio_api/file=pyproject.toml", None, 403),
        ("", "somewhere.example", 400),
    ],
)
def test_other_files_are_not_served(server, path, host, refused):
    request = urllib.request.Request(server.address + path, headers={"Host": host} if host else {})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(HTTPError) as answer:
        direct.open(request)
    assert answer.value.code == refused
    answer.value.close()


def test_nothing_is_left_when_it_ends(tmp_path):
    picture = write_picture(tmp_path / "a.png").read_bytes()
    with serve_app(tmp_path) as app:
        assert app.call("restore", "click", app.upload("a.png", picture), "deblur", 1)["success"]
        [folder] = app.temporary.iterdir()
        assert folder.stat().st_mode & 0o077 == 0
        assert any(folder.rglob("*_restored.png"))
        app.process.terminate()
        assert app.process.wait(PATIENCE) == 0
        assert list(app.temporary.iterdir()) == []
        assert app.process.stdout.read() == ""
    assert not (tmp_path / ".gradio").exists()


def test_other_weights_are_used_and_a_network_is_warned_of(tmp_path):
    network = {"width": 4, "iterations": 2}
    weights = IdempotentNet(IdempotentParameters(**network)).state_dict()
    card = {"task": "dehaze", "architecture": "idempotent", "arguments": network, "parameters": 17}
    write_weights(tmp_path / "own", TrainedModel(weights, card, []))
    with serve_app(tmp_path, "--weights", "own", "--host", "0.0.0.0") as app:
        assert app.shown["task"] == "dehaze"
        assert "17 parameters" in app.shown["about"] and "starter" not in app.shown["about"]
        assert "Warning: listening on 0.0.0.0. Anyone on the network" in app.said
        named = app.session.get(app.address, headers={"Host": "its-name"}, timeout=PATIENCE)
        assert named.status_code == 200
        picture = write_picture(tmp_path / "a.png").read_bytes()
        assert app.call("restore", "click", app.upload("a.png", picture), "dehaze", 1)["success"]


def test_an_address_of_another_computer_is_rejected():
    assert find_address("localhost").is_loopback
    with pytest.raises(BadInputError, match=r"--host 203\.0\.113\.7: not an IPv4 address or name"):
        find_address("203.0.113.7")


def test_missing_gradio_is_reported(monkeypatch):
    monkeypatch.setattr("idemnet.commands.app.find_spec", lambda _: None)
    result = CliRunner().invoke(main, ["app"])
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: gradio is not installed: pip install 'idemnet[app]'\n",
    )
