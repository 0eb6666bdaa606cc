"""A download killed midway leaves no file at its name; the next run ends with the right sha256."""

import hashlib
import io
import os
import signal
import zipfile

import numpy as np
import yaml

from idemnet.media.image_files import encode_png

from ..fetch.downloads import (
    DATA,
    HALF,
    SHA256,
    bodies,
    get,
    half_arrived,
    leave_half,
    names,
    refused,
    wait_until,
    zip_of,
)
from ..fetch.http_server import says, whole

DOWNLOAD = ("kedro", "run", "--pipeline=prepare_deblur", "--tags=download")


def zip_of_frames():
    buffer = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (4, 300, 400, 3), np.uint8)
    with zipfile.ZipFile(buffer, "w") as archive:
        for number, frame in enumerate(noise):
            archive.writestr(f"train/a/{number}.png", encode_png(frame))
    return buffer.getvalue()


def test_the_command_that_was_killed_resumes_when_it_is_given_again(project, server, hold):
    data = zip_of_frames()
    url = server.on("/a.zip", whole(data, cut=HALF, hold=hold), whole(data))
    sha256 = hashlib.sha256(data).hexdigest()
    source = {"kind": "archive", "archive": {"addresses": [url], "sha256": sha256}}
    settings = yaml.safe_dump({"deblur": {"source": source}})
    (project.folder / "conf/local/parameters_deblur.yml").write_text(settings)
    archives = project.folder / "data/01_raw/archives"
    running = project.start(*DOWNLOAD)
    wait_until(lambda: half_arrived(archives))
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    assert not (archives / "a.zip").exists()
    assert not (project.folder / "data/01_raw/deblur").exists()
    project.run(*DOWNLOAD)
    assert hashlib.sha256((archives / "a.zip").read_bytes()).hexdigest() == sha256
    assert server.sent[-1] == len(data) - HALF
    assert "01_raw/deblur/builtin/train/a/3.png" in project.bytes_below()


def test_killed_download_leaves_no_file_and_is_continued(server, tmp_path, hold):
    url = leave_half(server, tmp_path, hold)
    assert not (tmp_path / "a.zip").exists()
    assert not (tmp_path / "a.zip.sha256").exists()
    server.on("/a.zip", whole(DATA))
    assert hashlib.sha256(get(url, tmp_path).read_bytes()).hexdigest() == SHA256
    assert server.seen[0]["Range"] == f"bytes={HALF}-"
    assert server.seen[0]["If-Range"] == '"1"'
    assert server.sent == [len(DATA) - HALF]
    assert names(tmp_path) == ["a.zip", "a.zip.sha256"]


def test_partial_that_is_whole_needs_no_server(server, tmp_path, hold):
    url = leave_half(server, tmp_path, hold)
    with bodies(tmp_path)[0].open("ab") as body:
        body.write(DATA[HALF:])
    number = bodies(tmp_path)[0].stat().st_ino
    path = get(url, tmp_path)
    assert path.read_bytes() == DATA
    assert path.stat().st_ino == number  # renamed: it was never there in part
    assert server.seen == []


def test_file_that_changed_meanwhile_is_not_spliced(server, tmp_path, hold):
    url = leave_half(server, tmp_path, hold)
    other = zip_of(2 * HALF, seed=1)
    server.on("/a.zip", whole(other, etag='"2"'))
    assert get(url, tmp_path, sha256=None).read_bytes() == other


def test_server_that_overlooks_if_range_is_not_spliced(server, tmp_path, hold):
    url = leave_half(server, tmp_path, hold)
    other = zip_of(2 * HALF, seed=1)
    headers = {"ETag": '"2"', "Content-Range": f"bytes {HALF}-{len(DATA) - 1}/{len(DATA)}"}
    server.on("/a.zip", says(206, headers, other[HALF:]), whole(other, etag='"2"'))
    assert get(url, tmp_path, sha256=None, retries=1).read_bytes() == other


def test_server_that_ignores_range_sends_all_again(server, tmp_path, hold):
    url = leave_half(server, tmp_path, hold)
    server.on("/a.zip", whole(DATA, ranges=False))
    assert get(url, tmp_path).read_bytes() == DATA
    assert server.sent == [len(DATA)]


def test_range_that_is_gone_starts_over(server, tmp_path, hold):
    url = leave_half(server, tmp_path, hold, etag=None)
    small = zip_of(100)
    server.on("/a.zip", whole(small, etag=None))
    assert get(url, tmp_path, sha256=None, retries=1).read_bytes() == small
    assert "Range" in server.seen[0]
    assert "Range" not in server.seen[1]


def test_partial_of_another_address_is_kept(server, tmp_path, hold):
    leave_half(server, tmp_path, hold)
    (before,) = bodies(tmp_path)
    message = refused(server.on("/other/a.zip", says(404)), tmp_path)
    assert "404" in message
    assert bodies(tmp_path) == [before]
    assert get(server.on("/third/a.zip", whole(DATA)), tmp_path).read_bytes() == DATA
    assert bodies(tmp_path) == []  # swept, now that the file is there
    assert "Range" not in server.seen[-1]


def test_web_page_in_place_of_the_rest_does_not_cost_what_is_there(server, tmp_path, hold):
    url = leave_half(server, tmp_path, hold)
    server.on("/a.zip", says(200, {"Content-Type": "text/html"}, b"<html>log in</html>"))
    assert "web page" in refused(url, tmp_path)
    assert half_arrived(tmp_path)
