"""Whatever a server sends instead of the file, the error says what was expected and what came."""

import subprocess

import pytest

from ..fetch.downloads import DATA, HALF, SHA256, get, names, refused, zip_of
from ..fetch.http_server import Server, says, until_closed, whole

LIES = {
    "cuts": (whole(DATA, cut=HALF, ranges=False), f"expected {len(DATA)} bytes, got {HALF} bytes"),
    "says more": (whole(DATA, claim=2 * len(DATA), ranges=False), f"expected {2 * len(DATA)} byte"),
    "says less": (whole(DATA, claim=HALF), f"got {HALF} bytes without the end"),
    "says nothing": (until_closed(DATA[:HALF]), f"got {HALF} bytes without the end"),
    "sends a web page": (says(200, {"Content-Type": "text/html"}, b"<html>"), "got a web page"),
    "sends a web page as data": (says(200, {}, b"<!doctype html>"), "starts with b'<!do'"),
    "sends another file": (whole(zip_of(2 * HALF, seed=1)), f"expected sha256 {SHA256}, got "),
    "sends nothing": (says(200), "starts with b''"),
    "has it no more": (says(404), "got 404 Not Found"),
    "is broken": (says(500), "got 500 Internal Server Error"),
}


@pytest.mark.parametrize("lie", LIES)
def test_the_error_names_address_expected_and_got(server, tmp_path, lie):
    answer, said = LIES[lie]
    url = server.on("/a.zip", answer)
    message = refused(url, tmp_path, retries=1)
    assert url in message
    assert "expected " in message
    assert "got " in message
    assert said in message
    assert len(server.seen) <= 2
    assert not {"a.zip", "a.zip.sha256"} & set(names(tmp_path))


def test_cut_transfer_is_resumed_where_it_broke(server, tmp_path):
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
def test_a_file_larger_than_its_declared_size_is_rejected(server, tmp_path, sha256):
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
    assert f"expected {len(DATA)} bytes, got {HALF} bytes (TimeoutError)" in message
    assert get(url, tmp_path, timeout=0.3, retries=1).read_bytes() == DATA
    assert server.seen[-1]["Range"].startswith("bytes=")


def test_refused_connection_is_retried_and_named(tmp_path):
    with Server() as server:
        url = server.on("/a.zip", says(404))
    message = refused(url, tmp_path, retries=1)
    assert f"{url}: " in message
    assert "Connection refused" in message
    assert "attempt 2 of 2" in message


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
def test_what_is_not_a_zip_is_rejected_at_once(server, tmp_path, headers, data, got):
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


def test_untrusted_certificate_is_rejected(certificate, tmp_path):
    with Server(certificate) as secure:
        message = refused(secure.on("/a.zip", whole(DATA)), tmp_path, retries=3)
        assert "certificate" in message
        assert secure.seen == []


@pytest.mark.parametrize("sha256", [None, SHA256])
def test_http_is_not_tried_after_https(server, tmp_path, sha256):
    plain = server.on("/a.zip", whole(DATA))
    message = refused(["https://127.0.0.1:1/a.zip", plain], tmp_path, sha256=sha256)
    assert f"{plain}: not tried, because it is http" in message
    shouted = plain.replace("http", "HTTP")
    assert "not tried" in refused(["https://127.0.0.1:1/a.zip", shouted], tmp_path, sha256=sha256)
    assert server.seen == []
    assert get([plain, "https://127.0.0.1:1/a.zip"], tmp_path, sha256=sha256).exists()


def test_redirects_end(server, tmp_path):
    url = server.on("/a.zip", says(302, {"Location": "/a.zip"}))
    assert "TooManyRedirects" in refused(url, tmp_path)
    assert len(server.seen) <= 31


def test_redirect_of_any_length_is_not_read(server, tmp_path):
    def endless(handler):
        handler.head(302, {"Location": "/b.zip"})
        for _ in range(1000):
            handler.body(bytes(1 << 20))

    url = server.on("/a.zip", endless)
    server.on("/b.zip", whole(DATA))
    assert get(url, tmp_path).read_bytes() == DATA
    assert sum(server.sent) < 50_000_000


@pytest.mark.parametrize("to", ["ftp://x/a.zip", "http://[bad/a.zip", "file:///etc/passwd"])
def test_redirects_to_elsewhere_are_rejected(server, tmp_path, to):
    refused(server.on("/a.zip", says(302, {"Location": to})), tmp_path)
    assert names(tmp_path) == []
