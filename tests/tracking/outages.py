"""Tracking servers, real and broken, on this machine, and journals to tell them of."""

import http.server
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from click.testing import CliRunner

from idemnet.commands.main import main
from idemnet.tracking.journal import Journal, read_journal
from idemnet.tracking.store import Uploader

STEPS = 50


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

    def __init__(self, database: Path) -> None:
        self.database = database
        self.port = free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [
            sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port",
            str(self.port), "--workers", "1", "--backend-store-uri", f"sqlite:///{self.database}",
            "--artifacts-destination", str(self.database.parent / "served"),
        ]  # fmt: skip
        self.process = subprocess.Popen(
            command, cwd=self.database.parent, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=2).close()
            except OSError:
                assert self.process.poll() is None and time.monotonic() < deadline
                time.sleep(0.1)
            else:
                return

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


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


def started(folder: Path, patches: int = 8, **tags: str) -> Journal:
    journal = Journal(folder)
    settings = {"learning_rate": 1e-4, "validation_patches": patches, "long": "x" * 9000}
    data = {"dataset": "scenes", "data_fingerprint": "5eed" * 16}
    tags = {"task": "deblur", **data, "long": "y" * 9000, **tags}
    journal.start("first", {"train": settings, "none": None}, tags)
    return journal


def runs(uri: str) -> list:
    experiments = [found.experiment_id for found in client(uri).search_experiments()]
    return list(client(uri).search_runs(experiments))


def assert_whole(uri: str, folder: Path) -> None:
    """One run, and in it exactly the metrics of the journal."""
    [run] = runs(uri)
    wanted: dict[str, list] = {}
    for line in read_journal(folder):
        for key, value in line.get("values", {}).items():
            wanted.setdefault(key, []).append((line["step"], value, line["time"]))
    assert wanted
    for key, values in wanted.items():
        history = client(uri).get_metric_history(run.info.run_id, key)
        assert sorted((point.step, point.value, point.timestamp) for point in history) == values


def replay(root: Path) -> str:
    result = CliRunner().invoke(main, ["track", "replay", "--root", str(root)])
    assert result.exit_code == 0, result.output
    return result.output


def artifacts(uri: str, run: str, folder: str = "") -> list[str]:
    return [Path(found.path).name for found in client(uri).list_artifacts(run, folder)]


def train(folder: Path, uri: str, steps: range = range(STEPS)) -> float:
    """Log as a training does; return how long it took, from first to last."""
    begin = time.monotonic()
    journal = started(folder)
    uploader = Uploader(folder, uri, "idemnet", interval=0.1)
    uploader.start()
    for step in steps:
        journal.log(step, {"loss": step, "rate": 0.5})
        journal.log(step, {"epoch.loss": step})
        time.sleep(0.02)
    uploader.close()
    return time.monotonic() - begin - 0.02 * len(steps)
