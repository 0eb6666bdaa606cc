"""Tracking servers, real and broken, on this machine."""

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
