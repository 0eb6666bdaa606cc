"""Weights named `mlflow:NAME@ALIAS` are found, or a sentence says soon why not."""

import time

import pytest

from idemnet.errors import BadInputError
from idemnet.inference.find_weights import find_weights

from ..fetch.http_server import says
from ..tracking.stores import closed, silent


@pytest.fixture(autouse=True)
def as_installed(monkeypatch):
    """Whatever this machine's environment says."""
    for name in ("TIMEOUT", "MAX_RETRIES"):
        monkeypatch.delenv(f"MLFLOW_HTTP_REQUEST_{name}", raising=False)


@pytest.mark.parametrize("server", [silent, closed])
def test_a_server_that_does_not_answer_is_reported_within_five_seconds(server, monkeypatch):
    with server() as uri:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        begun = time.monotonic()
        with pytest.raises(BadInputError, match=rf"^mlflow:net@best: {uri} does not answer \("):
            find_weights("mlflow:net@best")
        assert time.monotonic() - begun < 5


def test_any_answer_of_a_server_is_one(server, monkeypatch):
    """Such as that of one without this page; then MLflow asks it for the model."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.on("").removesuffix("/"))
    server.on("/", says(405))
    path = "/api/2.0/mlflow/registered-models/alias"
    server.on(path, says(404, {}, b'{"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no"}'))
    with pytest.raises(BadInputError, match=r"^mlflow:net@best: not found in http://127"):
        find_weights("mlflow:net@best")
    assert path in server.seen[-1]["path"]
