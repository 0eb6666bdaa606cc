"""The page of `idemnet app` without a browser: what the browser sends, sent by a program."""

import json
import re
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from .conftest import environment

ADDRESS = re.compile(r"http://(127\.0\.0\.1|localhost):\d+/")
PATIENCE = 120


class AppClient:
    """Talks to one server, as one page does."""

    def __init__(self, process: subprocess.Popen, said: str, temporary: Path) -> None:
        self.process, self.said, self.temporary = process, said, temporary
        self.address = address = ADDRESS.search(said)[0]
        self.session = requests.Session()
        self.session.trust_env = False  # no proxy knows this host
        self.name = secrets.token_hex(6)
        config = self.session.get(f"{address}config", timeout=PATIENCE).json()
        named = {one["id"]: one["props"].get("elem_id") for one in config["components"]}
        self.shown = {
            one["props"].get("elem_id"): one["props"].get("value") for one in config["components"]
        }
        """What elements hold when the page is opened, by name."""
        self.choices = {
            one["props"].get("elem_id"): one["props"].get("choices") for one in config["components"]
        }
        self.events = {
            (named.get(target), event): dependency["id"]
            for dependency in config["dependencies"]
            for target, event in dependency["targets"]
        }

    def post(self, path: str, **content: Any) -> requests.Response:
        return self.session.post(f"{self.address}gradio_api/{path}", timeout=PATIENCE, **content)

    def upload(self, name: str, data: bytes) -> dict[str, Any]:
        """Return what the page calls the file from now on."""
        answer = self.post("upload", files={"files": (name, data)})
        answer.raise_for_status()
        return self.file(answer.json()[0])

    def file(self, path: str) -> dict[str, Any]:
        return {"path": path, "meta": {"_type": "gradio.FileData"}}

    def call(self, element: str, event: str, *data: Any) -> dict[str, Any]:
        """Do as if somebody had touched an element; give what the server says in the end."""
        order = {
            "data": data, "fn_index": self.events[element, event], "session_hash": self.name,
        }  # fmt: skip
        self.post("queue/join", json=order).raise_for_status()
        stream = f"{self.address}gradio_api/queue/data"
        with self.session.get(
            stream, params={"session_hash": self.name}, stream=True, timeout=PATIENCE
        ) as answer:
            for line in answer.iter_lines():
                said = json.loads(line.removeprefix(b"data: ")) if line else {}
                if said.get("msg") == "process_completed":
                    return said
        raise AssertionError("the server said nothing")


@contextmanager
def serve_app(folder: Path, *options: str) -> Iterator[AppClient]:
    """Start `idemnet app` in a folder, with the weights that are shipped, and end it."""
    (folder / "temporary").mkdir()
    process = subprocess.Popen(
        ["idemnet", "app", *options], cwd=folder, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(TMPDIR=str(folder / "temporary")),
    )  # fmt: skip
    try:
        said = ""
        for line in process.stdout:
            said += line
            if ADDRESS.search(line):
                break
        assert ADDRESS.search(said), said
        yield AppClient(process, said, folder / "temporary")
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()
