"""Passwords and keys in addresses appear in no log, message, file name, MLflow tag or error."""

import contextlib
import logging
import shutil

import pytest

from idemnet.tracking.uri import explain, sqlite_uri

from ..fetch.downloads import DATA, HALF, get, names, refused
from ..fetch.http_server import Server, says, whole
from ..tracking.stores import Server as MlflowServer
from ..tracking.stores import broken, closed, push, recorded


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


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("outage", [closed, broken])
def test_a_password_is_shown_nowhere(outage, database, caplog, capfd, monkeypatch):
    caplog.set_level(logging.DEBUG, "idemnet")
    caplog.set_level(logging.WARNING)
    with outage() as nobody:
        secret = nobody.replace("//", "//me:hunter%32@") + "/?token=hunter2"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", secret)
        with recorded(database) as run:
            run.log(0, {"loss": 1})
        result = push(secret, database, monkeypatch)
    assert result.exit_code == 1
    assert nobody.removeprefix("http://127.0.0.1") in result.output + caplog.text
    files = "".join(
        path.read_text("latin1") for path in database.parent.rglob("*") if path.is_file()
    )
    shown = "".join([result.output, caplog.text, *capfd.readouterr(), files])
    assert "hunter" not in shown and "token=" not in shown


def test_a_password_with_odd_letters_is_not_explained():
    error = RuntimeError("postgresql://me:p@ss%2Fw@host/db?sslkey=abc: bad password 'p@ss/w'\n(x)")
    said = explain(error, "postgresql://me:p@ss%2Fw@host/db?sslkey=abc")
    assert "ss" not in said.replace("password", "").replace("postgres", "")
    assert said.startswith("postgresql://host/db")
    assert "\n" not in said


@pytest.mark.slow
@pytest.mark.parametrize("up", [False, True])
def test_a_training_tells_no_password(up, prepared, make_project, database, monkeypatch):
    """Neither on the screen nor in a file, of the project or of the server that has been told."""
    project = make_project("project")
    shutil.copytree(prepared.folder / "data", project.folder / "data")
    with contextlib.ExitStack() as stack:
        if up:
            server = MlflowServer(sqlite_uri(database), database.parent)
            stack.callback(server.kill)
            uri = server.uri
        else:
            uri = stack.enter_context(closed())
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri.replace("//", "//me:hunter2@"))
        done = project.run("kedro", "run", "--pipeline=train_deblur", "--tags=train")
        again = project.run("idemnet", "track", "push", check=up)
    assert "hunter" not in done.stdout + done.stderr + again.stdout + again.stderr
    written = [path for path in project.folder.rglob("*") if "src" not in path.parts]
    if up:
        written += database.parent.rglob("*")
    files = [path for path in written if path.is_file() and "conf" not in path.parts]
    assert [path for path in files if b"hunter" in path.read_bytes()] == []
