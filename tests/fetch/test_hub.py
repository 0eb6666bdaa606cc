"""Archives on the Hugging Face Hub: a server here answers what the Hub is asked."""

import signal

import pytest

from idemnet.fetch.address import hide_secrets

from .downloads import (
    DATA,
    HALF,
    SHA256,
    child,
    get,
    half_arrived,
    names,
    refused,
    wait_until,
    zip_of,
)
from .http_server import Server, says, whole

COMMIT = "c0ffee" * 6 + "cafe"
ADDRESS = "hf://datasets/owner/name/sets/a.zip"
RESOLVE = "/datasets/owner/name/resolve"


@pytest.fixture
def storage():
    with Server() as server:
        yield server


def publish(hub, storage, *answers, revision="main", sha256=SHA256):
    """Have the Hub point at a file whose bytes the storage answers for."""
    headers = {
        "X-Repo-Commit": COMMIT,
        "X-Linked-Etag": f'"{sha256}"',
        "X-Linked-Size": str(len(DATA)),
        "Location": storage.on("/blob", *(answers or [whole(DATA)])),
    }
    for version in (revision, COMMIT):
        hub.on(f"{RESOLVE}/{version}/sets/a.zip", says(302, headers))


def test_a_file_arrives_and_the_token_stays_with_the_hub(hub, storage, tmp_path):
    publish(hub, storage)
    path = get(ADDRESS, tmp_path, sha256=None)
    assert path.read_bytes() == DATA
    assert names(tmp_path) == ["a.zip", "a.zip.sha256"]
    asked = [(seen["method"], seen["path"].split("/")[-3]) for seen in hub.seen]
    assert asked == [("HEAD", "main"), ("GET", COMMIT)]
    tokens = [{name.lower(): value for name, value in seen.items()} for seen in hub.seen]
    assert [seen["authorization"] for seen in tokens] == ["Bearer hf_secret"] * 2
    assert "Authorization" not in storage.seen[0]
    assert get(ADDRESS, tmp_path, sha256=None) == path
    assert len(hub.seen) == 2


def test_a_revision_can_be_named(hub, storage, tmp_path):
    publish(hub, storage, revision="v1.0")
    address = "hf://datasets/owner/name@v1.0/sets/a.zip"
    assert get(address, tmp_path).read_bytes() == DATA


def test_a_killed_download_is_continued(hub, storage, tmp_path, hold):
    publish(hub, storage, whole(DATA, cut=HALF, hold=hold), whole(DATA))
    with child(ADDRESS, tmp_path) as process:
        wait_until(lambda: half_arrived(tmp_path))
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "a.zip").exists()
    assert get(ADDRESS, tmp_path, sha256=None).read_bytes() == DATA
    assert storage.sent == [HALF, len(DATA) - HALF]
    assert all(seen["path"].startswith(RESOLVE) for seen in hub.seen)  # and no telemetry
    assert names(tmp_path) == ["a.zip", "a.zip.sha256"]


def test_other_bytes_than_the_hub_has_hashed_are_rejected(hub, storage, tmp_path):
    publish(hub, storage, whole(zip_of(2 * HALF, seed=1)))
    assert f"{ADDRESS}: expected sha256 {SHA256}, got" in refused(ADDRESS, tmp_path, sha256=None)
    assert names(tmp_path) == []


def test_another_sha256_than_ours_is_rejected_before_a_byte_is_sent(hub, storage, tmp_path):
    publish(hub, storage, sha256="0" * 64)
    assert f"expected sha256 {SHA256}, got {'0' * 64}" in refused(ADDRESS, tmp_path)
    assert storage.seen == []


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (404, "RepoNotFound", "Repository Not Found"),
        (404, "RevisionNotFound", "Revision Not Found"),
        (404, "EntryNotFound", "Entry Not Found"),
        (403, "GatedRepo", "Cannot access gated repo"),
    ],
)
def test_what_the_hub_rejects_is_reported_in_one_line_and_not_asked_again(
    hub, tmp_path, status, code, said
):
    hub.on(f"{RESOLVE}/main/sets/a.zip", says(status, {"X-Error-Code": code}))
    message = refused(ADDRESS, tmp_path, retries=3)
    assert message.startswith(f"{ADDRESS}: expected 200 from the Hub, got: {status}")
    assert said in message
    assert "\n" not in message and "hf_secret" not in message
    assert len(hub.seen) == 1


def test_a_busy_hub_is_asked_again(hub, storage, tmp_path):
    publish(hub, storage)
    path = f"{RESOLVE}/main/sets/a.zip"
    hub.on(path, says(503), *hub.answers[path])
    assert get(ADDRESS, tmp_path, retries=1).read_bytes() == DATA


def test_a_hub_that_cannot_be_reached_is_reported(hub, storage, tmp_path):
    with Server() as gone:
        endpoint = gone.on("", says(404))
    with child(ADDRESS, tmp_path, HF_ENDPOINT=endpoint) as process:
        _, error = process.communicate(timeout=60)
    assert f"{ADDRESS}: expected an answer of the Hub, got: " in error
    assert "Connection refused" in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    "address", ["hf://datasets/owner", "hf://datasets/owner/name", "hf://datasets/a b/c/d.zip"]
)
def test_an_address_of_no_file_is_rejected(tmp_path, address):
    message = refused(address, tmp_path, retries=3)
    assert message.startswith(f"{hide_secrets(address)}: expected ")
    assert "address" in message
