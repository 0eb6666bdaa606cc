"""Passwords and keys in addresses appear in no log, message, file name, MLflow tag or error."""

import logging

import pytest

from ..datasets.downloads import DATA, HALF, get, names, refused
from ..datasets.http_server import Server, says, whole


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
