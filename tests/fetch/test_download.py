import logging
import os
import subprocess

from idemnet.system import progress

from .downloads import DATA, HALF, SHA256, get, names, refused
from .http_server import says, whole

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


def test_no_address_is_reported(tmp_path):
    assert "got none" in refused([], tmp_path)


# What is there already


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


# Disk


def test_folder_that_cannot_be_made_is_named(server, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    message = refused(server.on("/a.zip", whole(DATA)), tmp_path / "file" / "in")
    assert str(tmp_path / "file" / "in") in message


# Names, progress


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
