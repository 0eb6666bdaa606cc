import contextlib
import hashlib
import io
import json
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
import zipfile

import pytest

from idemnet import progress
from idemnet.datasets.address import Address
from idemnet.datasets.download import fetch
from idemnet.errors import BadInputError

from .http_server import Server, says, until_closed, whole

CHILD = """
import json, resource, sys
from pathlib import Path
from idemnet import progress
from idemnet.datasets.download import fetch
given = json.loads(sys.argv[1])
if given["most"]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (given["most"], given["most"]))
try:
    print(fetch([given["url"]], Path(given["folder"]), sha256=None, retries=0, timeout=30))
except ValueError as error:
    sys.exit(str(error))
"""
HALF = 1 << 19


def zip_of(size, seed=0):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        # With a date of its own: by today's, every process would have another archive.
        archive.writestr(zipfile.ZipInfo("a.bin"), random.Random(seed).randbytes(size))
    return buffer.getvalue()


DATA = zip_of(2 * HALF)
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server():
    with Server() as server:
        yield server


@pytest.fixture
def hold():
    event = threading.Event()
    yield event
    event.set()


def get(addresses, folder, sha256=SHA256, retries=0, timeout=20.0):
    addresses = [addresses] if isinstance(addresses, str) else addresses
    return fetch(addresses, folder, sha256=sha256, retries=retries, timeout=timeout)


def refused(*args, **options):
    with pytest.raises(BadInputError) as caught:
        get(*args, **options)
    return str(caught.value)


@contextlib.contextmanager
def child(url, folder, most=0):
    given = json.dumps({"url": url, "folder": str(folder), "most": most})
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", CHILD, given], text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def bodies(folder):
    return sorted(folder.glob("[!.]*.part/body"))


def wait_until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def half_arrived(folder):
    return [body.stat().st_size for body in bodies(folder)] == [HALF]


def leave_half(server, folder, hold, **options):
    """A process is killed with half of the file on disk."""
    url = server.on("/a.zip", whole(DATA, cut=HALF, hold=hold, **options))
    with child(url, folder) as process:
        wait_until(lambda: half_arrived(folder))
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
    server.seen.clear()
    server.sent.clear()
    return url


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


# What is promised when all goes well


def test_file_arrives_with_its_record_and_is_not_downloaded_twice(server, tmp_path):
    url = server.on("/data/a.zip", whole(DATA))
    path = get(url, tmp_path / "in", sha256=None)
    assert path == tmp_path / "in" / "a.zip"
    assert path.read_bytes() == DATA
    assert names(tmp_path / "in") == ["a.zip", "a.zip.sha256"]
    checked = subprocess.run(["sha256sum", "-c", "a.zip.sha256"], cwd=path.parent, check=False)
    assert checked.returncode == 0
    assert get(url, tmp_path / "in") == get(url, tmp_path / "in", sha256=None) == path
    assert len(server.seen) == 1


def test_local_file_is_used_in_place_and_still_checked(tmp_path):
    local = tmp_path / "my [red] data.zip"
    local.write_bytes(DATA)
    assert get(str(local), tmp_path / "in") == local
    assert get(["gone.zip", str(local)], tmp_path / "in", sha256=None) == local
    message = refused(str(local), tmp_path / "in", sha256="0" * 64)
    assert "0" * 64 in message
    assert SHA256 in message
    assert not (tmp_path / "in").exists()


def test_what_is_here_is_used_before_anything_is_sent_for(server, tmp_path):
    first, second = server.on("/a.zip", says(404)), server.on("/b.zip", whole(DATA))
    assert get([first, second], tmp_path) == tmp_path / "b.zip"
    assert len(server.seen) == 2
    assert get([first, second], tmp_path) == tmp_path / "b.zip"
    assert len(server.seen) == 2


def test_all_addresses_are_named_when_all_fail(server, tmp_path):
    first, second = server.on("/a.zip", says(404)), server.on("/b.zip", says(403))
    message = refused([first, "nowhere.zip", second, "ftp://host/c.zip"], tmp_path)
    assert f"{first}: expected a zip file, got 404 Not Found" in message
    assert f"{second}: expected a zip file, got 403 Forbidden" in message
    assert "nowhere.zip: expected a file" in message
    assert "'ftp'" in message
    assert len(server.seen) == 2
    assert names(tmp_path) == []


def test_no_address_is_said(tmp_path):
    assert "got none" in refused([], tmp_path)


# Kill


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


def test_partial_of_another_address_is_left_alone(server, tmp_path, hold):
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


def test_living_download_is_never_touched(server, tmp_path, hold):
    url = server.on("/a.zip", whole(DATA, cut=HALF, hold=hold), whole(DATA))
    with child(url, tmp_path) as process:
        wait_until(lambda: half_arrived(tmp_path))
        assert get(url, tmp_path).read_bytes() == DATA
        assert "Range" not in server.seen[1]
        assert half_arrived(tmp_path)
        hold.set()
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.strip() == str(tmp_path / "a.zip")
    assert (tmp_path / "a.zip").read_bytes() == DATA
    assert names(tmp_path) == ["a.zip", "a.zip.sha256"]


def test_two_at_once_do_not_corrupt_each_other(server, tmp_path):
    both = threading.Barrier(2)

    def together(handler):
        both.wait(30)
        whole(DATA)(handler)

    url = server.on("/a.zip", together)
    with child(url, tmp_path) as one, child(url, tmp_path) as other:
        results = [process.communicate(timeout=30) for process in (one, other)]
    assert [one.returncode, other.returncode] == [0, 0], results
    assert (tmp_path / "a.zip").read_bytes() == DATA
    assert names(tmp_path) == ["a.zip", "a.zip.sha256"]


# Servers that cut, lie, stall


def test_cut_transfer_is_taken_up_where_it_broke(server, tmp_path):
    url = server.on("/a.zip", whole(DATA, cut=HALF), says(503), whole(DATA))
    assert get(url, tmp_path, retries=2).read_bytes() == DATA
    assert [seen.get("Range") for seen in server.seen] == [None] + [f"bytes={HALF}-"] * 2


def test_retries_are_bounded_and_say_what_was_expected_and_got(server, tmp_path):
    url = server.on("/a.zip", whole(DATA, claim=2 * len(DATA), ranges=False))
    message = refused(url, tmp_path, sha256=None, retries=1)
    assert f"{url}: expected {2 * len(DATA)} bytes, got {2 * HALF} bytes" in message
    assert len(server.seen) == 2
    assert not (tmp_path / "a.zip").exists()


@pytest.mark.parametrize("sha256", [None, SHA256])
def test_size_that_is_said_too_small_is_no_whole_file(server, tmp_path, sha256):
    url = server.on("/a.zip", whole(DATA, claim=HALF))
    message = refused(url, tmp_path, sha256=sha256, retries=1)
    assert url in message
    assert f"{HALF} bytes" in message
    assert len(server.seen) == 1
    assert names(tmp_path) == []


def test_file_of_unknown_length_is_whole_only_with_its_end(server, tmp_path):
    url = server.on("/a.zip", until_closed(DATA[:HALF]), until_closed(DATA))
    assert "without the end" in refused(url, tmp_path, sha256=None)
    assert get(url, tmp_path, sha256=None).read_bytes() == DATA


def test_stalled_transfer_is_broken(server, tmp_path, hold):
    stall, done = whole(DATA, cut=HALF, hold=hold), whole(DATA)
    url = server.on("/a.zip", stall, stall, done)
    message = refused(url, tmp_path, timeout=0.3)
    assert f"expected {len(DATA)} bytes, got {HALF} bytes (no byte for 0.3 s)" in message
    assert get(url, tmp_path, timeout=0.3, retries=1).read_bytes() == DATA
    assert server.seen[-1]["Range"].startswith("bytes=")


def test_refused_connection_is_tried_again_and_named(tmp_path):
    with Server() as server:
        url = server.on("/a.zip", says(404))
    message = refused(url, tmp_path, retries=1)
    assert f"{url}: " in message
    assert "Connection refused" in message
    assert "try 2 of 2" in message


@pytest.mark.parametrize("busy", [429, 500])
def test_busy_server_is_tried_again_404_is_not(server, tmp_path, busy):
    url = server.on("/a.zip", says(busy), whole(DATA))
    assert get(url, tmp_path, retries=1).read_bytes() == DATA
    refused(server.on("/b.zip", says(404)), tmp_path, retries=3)
    assert len(server.seen) == 3


@pytest.mark.parametrize(
    ("headers", "data", "got"),
    [
        ({"Content-Type": "text/html; charset=utf-8"}, b"<html>sign in</html>", "web page"),
        ({}, b"<!doctype html>", "b'<!do'"),
        ({}, b"PK", "b'PK'"),
        ({}, b"", "b''"),
        ({"Content-Encoding": "gzip"}, DATA, "'gzip'"),
    ],
)
def test_what_is_no_zip_is_refused_at_once(server, tmp_path, headers, data, got):
    url = server.on("/a.zip", says(200, headers, data))
    message = refused(url, tmp_path, sha256=None, retries=3)
    assert url in message
    assert got in message
    assert len(server.seen) == 1
    assert names(tmp_path) == []


def test_wrong_hash_names_both_and_is_not_kept(server, tmp_path):
    url = server.on("/a.zip", whole(DATA))
    message = refused(url, tmp_path, sha256="0" * 64, retries=3)
    assert f"{url}: expected sha256 {'0' * 64}, got {SHA256}" in message
    assert len(server.seen) == 1
    assert names(tmp_path) == []


def test_other_sha256_than_recorded_is_a_question_to_the_person(server, tmp_path):
    url = server.on("/a.zip", whole(DATA))
    get(url, tmp_path, sha256=None)
    message = refused(url, tmp_path, sha256="0" * 64)
    assert "0" * 64 in message
    assert SHA256 in message
    assert "remove it" in message
    assert len(server.seen) == 1
    assert (tmp_path / "a.zip").read_bytes() == DATA


def test_file_that_was_cut_after_its_download_is_downloaded_again(server, tmp_path):
    url = server.on("/a.zip", whole(DATA))
    os.truncate(get(url, tmp_path), HALF)
    assert get(url, tmp_path).read_bytes() == DATA


def test_file_without_record_counts_only_if_its_hash_is_known(server, tmp_path):
    url = server.on("/a.zip", whole(DATA))
    (tmp_path / "a.zip").write_bytes(DATA)
    get(url, tmp_path)
    assert server.seen == []
    get(url, tmp_path, sha256=None)
    assert len(server.seen) == 1


# https


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    options = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test"
    command = ["openssl", "req", *options.split(), "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*command, "-keyout", path, "-out", path.with_suffix(".crt")],
        check=True,
        capture_output=True,
    )
    path.write_bytes(path.read_bytes() + path.with_suffix(".crt").read_bytes())
    return path


def test_never_from_https_to_http(server, certificate, tmp_path, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate.with_suffix(".crt")))
    plain = server.on("/a.zip", whole(DATA))
    with Server(certificate) as secure:
        good = secure.on("/good.zip", whole(DATA))
        hop = secure.on("/hop.zip", says(302, {"Location": "/good.zip"}))
        down = secure.on("/down.zip", says(302, {"Location": plain}))
        hidden = secure.on("/hidden.zip", says(307, {"Location": down}))
        up = server.on("/up.zip", says(301, {"Location": down}))
        for url in (down, hidden, up):
            message = refused(url, tmp_path, retries=3)
            assert f"expected https all the way, got redirected to {plain}" in message
        assert get(server.on("/to.zip", says(308, {"Location": hop})), tmp_path).exists()
        assert get(good, tmp_path).exists()
    assert not any(seen["path"] == "/a.zip" for seen in server.seen)


def test_untrusted_certificate_is_refused(certificate, tmp_path):
    with Server(certificate) as secure:
        message = refused(secure.on("/a.zip", whole(DATA)), tmp_path, retries=3)
        assert "certificate" in message
        assert secure.seen == []


def test_http_after_https_needs_a_sha256(server, tmp_path):
    plain = server.on("/a.zip", whole(DATA))
    both = ["https://127.0.0.1:1/a.zip", plain]
    assert f"{plain}: not tried" in refused(both, tmp_path, sha256=None)
    assert server.seen == []
    assert get(both, tmp_path).read_bytes() == DATA


def test_redirects_end(server, tmp_path):
    url = server.on("/a.zip", says(302, {"Location": "/a.zip"}))
    assert "redirects" in refused(url, tmp_path)
    assert len(server.seen) <= 20


@pytest.mark.parametrize("to", ["ftp://x/a.zip", "http://[bad/a.zip", "file:///etc/passwd"])
def test_redirects_to_elsewhere_are_refused(server, tmp_path, to):
    refused(server.on("/a.zip", says(302, {"Location": to})), tmp_path)
    assert names(tmp_path) == []


# Disk


def test_full_disk_is_said_before_the_download(server, tmp_path):
    url = server.on("/a.zip", whole(DATA, claim=10**17))
    message = refused([url, url], tmp_path, retries=3)
    assert "needs 100.0 PB" in message
    assert "free" in message
    assert len(server.seen) == 1
    assert names(tmp_path) == []


def test_disk_that_fills_up_leaves_nothing_and_the_next_run_succeeds(server, tmp_path):
    url = server.on("/a.zip", whole(DATA))
    with child(url, tmp_path, most=HALF) as process:
        _, error = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "File too large after 524.3 kB of a download: 1.0 MB is needed and" in error
    assert "is free" in error
    assert "Traceback" not in error
    assert names(tmp_path) == []
    assert get(url, tmp_path).read_bytes() == DATA


def test_folder_that_cannot_be_made_is_named(server, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    message = refused(server.on("/a.zip", whole(DATA)), tmp_path / "file" / "in")
    assert str(tmp_path / "file" / "in") in message


# Secrets, names, progress


def test_password_is_sent_but_never_shown(server, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    url = server.on("/a.zip", says(500), says(302, {"Location": "/b.zip"}))
    secret = url.replace("//", "//ann:s3cret@") + "?key=k3y"
    server.on("/b.zip", says(401))
    message = refused(secret, tmp_path, retries=1)
    assert [seen["Authorization"][:6] for seen in server.seen] == ["Basic "] * 3
    server.on("/a.zip", whole(DATA, cut=HALF), whole(DATA))
    get(secret, tmp_path, retries=1)
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("*.sha256"))
    ours = "".join(r.getMessage() for r in caplog.records if r.name.startswith("idemnet"))
    shown = message + ours + " ".join(names(tmp_path)) + kept.decode()
    assert url in shown
    for word in ("ann", "s3cret", "k3y"):
        assert word not in shown
    assert "s3cret" not in caplog.text


def test_password_stays_with_its_host(server, tmp_path):
    with Server() as other:
        elsewhere = other.on("/a.zip", whole(DATA))
        url = server.on("/a.zip", says(302, {"Location": elsewhere}))
        get(url.replace("//", "//ann:s3cret@"), tmp_path)
        assert "Authorization" not in other.seen[0]


@pytest.mark.parametrize(
    "text", ["https://ann:s3/cret@host/a.zip", "https:ann:s3/cret@host", "https://ann:s3cret@/a"]
)
def test_address_that_cannot_be_read_is_not_shown(tmp_path, text):
    message = refused(text, tmp_path)
    assert "cannot be read" in message
    assert "s3" not in message


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/x/GoPro%20Large.zip?a=b.zip", "GoPro_Large.zip"),
        ("/..%2f..%2fetc%2fpasswd", "passwd"),
        ("/%2e%2e", "archive.zip"),
        ("/.hidden", "hidden"),
        ("/a%00b%0a.zip", "a_b_.zip"),
        ("", "archive.zip"),
        ("/" + "a" * 300 + ".zip", "a" * 116 + ".zip"),
    ],
)
def test_name_of_the_file_is_safe(path, name):
    assert Address.parse(f"https://ann:pass@host{path}").file_name == name


def test_log_lines_tell_how_far_it_is(server, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    caplog.set_level(logging.INFO)
    get(server.on("/a.zip", whole(DATA)), tmp_path)
    assert "downloading a.zip: 1.0 MB of 1.0 MB" in caplog.text
    assert "s left" in caplog.text


def test_terminal_shows_a_bar(server, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    get(server.on("/a.zip", whole(DATA)), tmp_path)
    assert "downloading a.zip" in capfd.readouterr().err
