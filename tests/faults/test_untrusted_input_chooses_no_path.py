"""Neither visitors of the page nor untrusted files choose a path to read from or write to."""

import http.client
import io
import json
import struct
import subprocess
import sys
import zipfile
import zlib
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image as PillowImage

from idemnet.errors import BadInputError
from idemnet.media.image_files import encode_png, png_chunk
from idemnet.media.read_photo import decode_photo
from idemnet.media.write_photo import encode_photo

from ..app_client import serve_app
from ..conftest import environment

PICTURE = encode_png(np.random.default_rng(0).integers(0, 256, (20, 24, 3), np.uint8))
PEAK = """
import sys
from idemnet.media.read_photo import decode_photo
from idemnet.errors import BadInputError
from idemnet.system.resources import peak_memory
data = open(sys.argv[1], "rb").read()
before = peak_memory()
try:
    decode_photo(data, sys.argv[1])
except BadInputError as error:
    print(error, file=sys.stderr)
print((peak_memory() - before) // 10**6)
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with serve_app(tmp_path_factory.mktemp("app")) as client:
        yield client


@pytest.fixture(scope="module")
def place(app, tmp_path_factory):
    """A folder beside the page's own, in which a stranger has no business."""
    folder = tmp_path_factory.mktemp("private")
    (folder / "secret.png").write_bytes(PICTURE)
    return folder


def test_a_picture_that_was_uploaded_is_restored(app):
    said = app.call("restore", "click", app.upload("a.png", PICTURE), "deblur", 1)
    assert said["success"]
    assert "a_restored.png" in json.dumps(said)


def test_no_picture_is_read_that_was_not_uploaded(app, place):
    (place / "link.png").symlink_to(place / "secret.png")
    uploaded = app.upload("a.png", PICTURE)["path"]
    for path in (
        str(place / "secret.png"), str(place / "link.png"), "secret.png", "/etc/passwd",
        f"{uploaded}/../../../../../{place.name}/secret.png", f"file://{place}/secret.png", "http://127.0.0.1:1/secret.png",
    ):  # fmt: skip
        for element, event, more in (("restore", "click", ["deblur", 1]), ("upload", "change", [])):
            said = app.call(element, event, app.file(path), *more)
            assert not said["success"], path
            assert "base64" not in json.dumps(said)


@pytest.mark.parametrize(
    "name",
    ["../../evil.png", "/tmp/evil.png", "..\\evil.png", "a/../../evil.png", "%2e%2e/evil.png"],
)
def test_an_upload_lies_where_the_page_puts_it(app, place, name):
    path = Path(app.upload(name, PICTURE)["path"])
    [own] = app.temporary.iterdir()
    assert path.is_file() and path.resolve().is_relative_to(own)
    everywhere = [*place.parent.rglob("*evil*"), *Path("/tmp").glob("*evil*")]
    assert [one for one in everywhere if not one.is_relative_to(own)] == []


def ask(app, path: str) -> tuple[int, bytes]:
    """Send a path as it stands: libraries of the better kind would tidy it up first."""
    page = urlsplit(app.address)
    cookies = "; ".join(f"{one.name}={one.value}" for one in app.session.cookies)
    with closing(http.client.HTTPConnection(page.netloc, timeout=60)) as asked:
        asked.request("GET", f"{page.path}gradio_api/{path}", headers={"Cookie": cookies})
        answer = asked.getresponse()
        return answer.status, answer.read()


@pytest.mark.parametrize("up", ["", "../", "%2e%2e/", "..%2f"])
def test_no_other_file_is_served(app, place, up):
    uploaded = Path(app.upload("a.png", PICTURE)["path"])
    there = str(place / "secret.png")
    path = f"{uploaded.parent}/{up * 20}{there[1:]}" if up else there
    assert ask(app, f"file={uploaded}") == (200, PICTURE)
    for route in ("file=", "file/", "download/"):
        status, content = ask(app, f"{route}{path}")
        assert status >= 400
        assert PICTURE not in content


def deflated(megabytes: int) -> bytes:
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(megabytes)) + packer.flush()


def tiff(content: bytes, layout: dict[int, int]) -> bytes:
    """Write 24x20 pixels of 16 bits, deflated."""
    tags = {256: 24, 257: 20, 258: 16, 259: 8, 262: 1, 277: 1, **layout}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, tags[tag]) for tag in sorted(tags))
    start = b"II*\0" + struct.pack("<I", 8 + len(content)) + content
    return start + struct.pack("<H", len(tags)) + entries + bytes(4)


def bomb_in_a_strip() -> bytes:
    """A TIFF whose only strip unpacks to 600 MB."""
    strip = deflated(600)
    return tiff(strip, {273: 8, 278: 20, 279: len(strip)})


def bomb_in_a_tile() -> bytes:
    """A TIFF whose only tile claims to have 16 million rows."""
    tile = deflated(1)
    return tiff(tile, {322: 32, 323: 16_711_696, 324: 8, 325: len(tile)})


def bomb_in_a_profile() -> bytes:
    return PICTURE[:33] + png_chunk(b"iCCP", b"icc\0\0" + deflated(600)) + PICTURE[33:]


def bomb_in_a_header() -> bytes:
    """A PNG that promises 11,000 x 11,000 pixels, and has none."""
    head = struct.pack(">IIBBBBB", 11_000, 11_000, 8, 6, 0, 0, 0)
    return PICTURE[:8] + png_chunk(b"IHDR", head) + PICTURE[33:]


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (bomb_in_a_strip, "a.tif"),
        (bomb_in_a_tile, "b.tif"),
        (bomb_in_a_profile, "a.png"),
        (bomb_in_a_header, "b.png"),
    ],
)
def test_a_small_file_takes_little_memory(make, name, tmp_path, record_property):
    (tmp_path / name).write_bytes(make())
    result = subprocess.run(
        [sys.executable, "-c", PEAK, name],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    megabytes = int(result.stdout)
    assert megabytes < 100
    record_property("figure", f"{make.__name__.replace('_', ' ')}: {megabytes} MB")


def test_what_hides_behind_a_picture_is_not_passed_on():
    hidden = io.BytesIO()
    with zipfile.ZipFile(hidden, "w") as file:
        file.writestr("evil.sh", "echo hidden")
    with pytest.raises(BadInputError, match="data after its end"):
        decode_photo(PICTURE + hidden.getvalue(), "a.png")
    image = PillowImage.open(io.BytesIO(PICTURE))
    for kind, suffix in (("JPEG", ".jpg"), ("BMP", ".bmp"), ("TIFF", ".tif")):
        plain = io.BytesIO()
        image.save(plain, kind)
        photo = decode_photo(plain.getvalue() + hidden.getvalue(), f"a{suffix}")
        assert b"evil.sh" not in encode_photo(photo, suffix)
