"""A real browser, without a window, told what to do through its DevTools protocol."""

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

PATIENCE = 120.0
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--remote-debugging-port=0",
)  # fmt: skip


class Page:
    """One page; what it complains about, and asks for, is collected."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection, self._session, self._number = connection, None, 0
        self._seen: list[str] = []
        self.complaints: list[str] = []
        self.requests: list[str] = []
        """Addresses that were asked for, the page's own included."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        session = {"sessionId": self._session} if self._session else {}
        self._connection.send(json.dumps(message | session))
        while (answer := self._receive()).get("id") != self._number:
            pass
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def open(self, url: str, width: int, height: int = 900) -> None:
        """Load a page in a window of this size, a narrow one as a phone would."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self._seen.clear()
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self._seen:
            self._receive()

    def run(self, script: str) -> Any:
        """Evaluate JavaScript and give its value."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Wait until JavaScript gives something that is true, and give it."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if found := self.run(script):
                return found
            time.sleep(0.05)
        raise TimeoutError(script)

    def upload(self, selector: str, path: Path) -> None:
        """Choose a file as a person does in the dialog."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def download_to(self, folder: Path) -> None:
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def middle_of(self, selector: str) -> tuple[float, float, float]:
        """Scroll to an element; give the middle of it, and its width."""
        script = (
            f"(() => {{ const one = document.querySelector({json.dumps(selector)});"
            "one.scrollIntoView({block: 'center'}); const box = one.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2, box.width]; })()"
        )
        x, y, width = self.run(script)
        return x, y, width

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind, x=x, y=y, button="left", buttons=1, clickCount=1,
            )  # fmt: skip

    def press(self, key: str, code: int) -> None:
        text = {"text": "\r"} if key == "Enter" else {}  # without it, no button is pressed
        for kind, more in (("keyDown" if text else "rawKeyDown", text), ("keyUp", {})):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more,
            )  # fmt: skip

    def picture(self, path: Path) -> None:
        """Save a screenshot of the whole page."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def shot(self, path: Path) -> None:
        """Save a screenshot of what is in the window."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def print(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF")["data"]))

    def _receive(self) -> dict[str, Any]:
        message = json.loads(self._connection.recv(timeout=PATIENCE))
        method, parameters = message.get("method", ""), message.get("params", {})
        self._seen.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        if (
            method == "Runtime.exceptionThrown"
            or (method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"))
            or (method == "Log.entryAdded" and parameters["entry"]["level"] == "error")
        ):
            self.complaints.append(json.dumps(parameters))
        return message


@contextmanager
def start_browser(folder: Path) -> Iterator[Page]:
    """Start one with an empty profile in `folder`, and end it."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip(f"no browser here ({', '.join(names)})")
    process = subprocess.Popen(
        [program, *OPTIONS, f"--user-data-dir={folder}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with connect(_address(folder), max_size=None, open_timeout=PATIENCE) as connection:
            yield Page(connection)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _address(folder: Path) -> str:
    """Wait until the browser has written where it listens."""
    place, deadline = folder / "DevToolsActivePort", time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        lines = place.read_text().split("\n") if place.is_file() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.05)
    raise TimeoutError("the browser does not say where it listens")
