"""MLflow's stores on this machine: files, servers real and broken, and runs to put into them."""

import hashlib
import http.server
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from idemnet.commands.main import main
from idemnet.tracking.push import ORIGIN, PUSHED
from idemnet.tracking.run import Run
from idemnet.tracking.tracker import Tracker

DATA = {"dataset": "scenes", "data_fingerprint": "5eed" * 16}


def free_port() -> int:
    """Find a port below those that the system gives to others meanwhile."""
    for port in random.sample(range(20000, 32000), 50):
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


class Server:
    """An `mlflow server` that can be killed and started again."""

    def __init__(self, backend: str, folder: Path) -> None:
        self.backend, self.folder = backend, folder
        self.port = free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [
            sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port",
            str(self.port), "--workers", "1", "--backend-store-uri", self.backend,
            "--artifacts-destination", str(self.folder / "served"),
        ]  # fmt: skip
        self.process = subprocess.Popen(
            command, cwd=self.folder, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )  # fmt: skip
        deadline = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=2).close()
            except OSError:
                assert self.process.poll() is None and time.monotonic() < deadline
                time.sleep(0.1)
            else:
                return

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def postgresql() -> Iterator[str]:
    """Run a PostgreSQL of one's own; skip the test where it is not installed."""
    found = [shutil.which("initdb"), *map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
    programs = [Path(name).parent for name in found if name]
    if not programs:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    # It refuses root, and nobody else may look into the folders of tests.
    user = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    folder, port = tempfile.mkdtemp(), free_port()
    os.chown(folder, user.pw_uid, user.pw_gid)
    options = {"user": user.pw_uid, "group": user.pw_gid} if os.getuid() == 0 else {}
    options |= {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        make = [programs[-1] / "initdb", "-D", "data", "-U", "me", "--auth=trust", "--no-sync"]
        subprocess.run([*make, "-E", "UTF8", "--locale=C"], check=True, **options)
        serve = [programs[-1] / "postgres", "-D", "data", "-k", folder, "-p", str(port)]
        server = subprocess.Popen([*serve, "-h", "127.0.0.1", "-F"], **options)
        try:
            ready = [programs[-1] / "pg_isready", "-h", "127.0.0.1", "-p", str(port)]
            while subprocess.run(ready, stdout=subprocess.DEVNULL, check=False).returncode:
                assert server.poll() is None
                time.sleep(0.1)
            yield f"postgresql+psycopg2://me@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait()
    finally:
        shutil.rmtree(folder)


@contextmanager
def closed() -> Iterator[str]:
    yield f"http://127.0.0.1:{free_port()}"


@contextmanager
def silent() -> Iterator[str]:
    """Accepts and never answers."""
    with socket.create_server(("127.0.0.1", free_port()), backlog=64) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


class Broken(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(500)

    do_POST = do_PUT = do_PATCH = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def broken() -> Iterator[str]:
    """Answers everything with 500."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Broken) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def client(uri: str):
    from mlflow import MlflowClient

    return MlflowClient(uri, uri)


def runs(uri: str) -> list:
    experiments = [found.experiment_id for found in client(uri).search_experiments()]
    return list(client(uri).search_runs(experiments))


def history(uri: str, run: str, key: str) -> list[tuple[int, float]]:
    return [(one.step, one.value) for one in client(uri).get_metric_history(run, key)]


@contextmanager
def recorded(store: Path, fingerprint: str = "0" * 64, **tags: str) -> Iterator[Run]:
    """Start a run as a training does; one more time, it is resumed."""
    with Tracker(store, "deblur", "scenes").run(fingerprint) as run:
        settings = {"learning_rate": 1e-4, "validation_patches": 8, "long": "x" * 9000}
        run.start("first", {"train": settings, "none": None}, {**DATA, "long": "y" * 9000, **tags})
        yield run


def push(uri: str, store: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.chdir(store.parent)
    return CliRunner().invoke(main, ["track", "push"])


def content(uri: str) -> dict:
    """Read all that a store has of our runs, but for what numbers it gave them."""
    found, names, store = {}, {}, client(uri)
    places = {
        one.experiment_id: (one.name, one.tags["mlflow.experimentKind"])
        for one in store.search_experiments(filter_string="name LIKE 'idemnet-%'")
    }
    for run in store.search_runs([*places], order_by=["start_time"]):
        number, tags = run.info.run_id, dict(run.data.tags)
        original = names[number] = tags.pop(ORIGIN, number)
        assert original not in found, "a run is there twice"
        tags.pop(PUSHED, None)
        if "mlflow.parentRunId" in tags:
            tags["mlflow.parentRunId"] = names[tags["mlflow.parentRunId"]]
        found[original] = {
            "experiment": places[run.info.experiment_id],
            "info": (run.info.run_name, run.info.status, run.info.start_time, run.info.end_time),
            "params": run.data.params,
            "tags": tags,
            "metrics": sorted(
                (one.key, one.step, one.timestamp, repr(one.value))
                for key in run.data.metrics
                for one in store.get_metric_history(number, key)
            ),
            "inputs": [one.to_dictionary() for one in run.inputs.dataset_inputs],
            "files": files(store, number),
            "versions": [
                (one.name, one.tags, one.description)
                for one in store.search_model_versions(f"run_id = '{number}'")
            ],
        }
    champions = {
        model.name: names[store.get_model_version_by_alias(model.name, "champion").run_id]
        for model in store.search_registered_models()
        if "champion" in model.aliases
    }
    return {"runs": found, "champions": champions}


def files(store, run: str) -> dict[str, str]:
    if not store.list_artifacts(run):
        return {}
    folder = Path(store.download_artifacts(run, ""))
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }
