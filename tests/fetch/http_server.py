"""A real server that misbehaves on request."""

import contextlib
import re
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Answer = Callable[["Handler"], None]


@dataclass
class Server:
    """Answers each path by its list of answers in turn; the last one is for ever."""

    certificate: Path | None = None
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    seen: list[dict[str, str]] = field(default_factory=list)
    """The headers of each request."""
    sent: list[int] = field(default_factory=list)
    """The bytes of each body."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> "Server":
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.block_on_close = False
        self.http.site = self
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def on(self, path: str, *answers: Answer) -> str:
        self.answers[path] = list(answers)
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://127.0.0.1:{self.http.server_address[1]}{path}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        site: Server = self.server.site
        with site.lock:
            site.seen.append({"method": self.command, "path": self.path, **dict(self.headers)})
            left = site.answers[self.path.partition("?")[0]]
            answer = left.pop(0) if len(left) > 1 else left[0]
        self.close_connection = True
        with contextlib.suppress(OSError):  # the other side may hang up
            answer(self)

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815

    def head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()

    def body(self, data: bytes) -> None:
        if self.command == "HEAD":
            return
        self.server.site.sent.append(len(data))  # first: who gets the bytes may look at this
        self.wfile.write(data)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


def whole(
    data: bytes,
    *,
    etag: str | None = '"1"',
    ranges: bool = True,
    cut: int | None = None,
    claim: int | None = None,
    hold: threading.Event | None = None,
    kind: str = "application/zip",
) -> Answer:
    """Serve a file: `cut` bytes of it only, then close or, with `hold`, say nothing."""

    def answer(handler: Handler) -> None:
        found = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        fresh = handler.headers.get("If-Range") in (None, etag)
        start = int(found[1]) if found and ranges and fresh else 0
        headers = {"Content-Type": kind} | ({"ETag": etag} if etag else {})
        if start and start >= len(data):
            handler.head(416, headers | {"Content-Range": f"bytes */{len(data)}"})
            return
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        length = (len(data) if claim is None else claim) - start
        handler.head(206 if start else 200, headers | {"Content-Length": str(length)})
        handler.body(data[start:][:cut])
        if hold is not None:
            hold.wait(30)
            handler.body(data[start:][cut:])

    return answer


def says(status: int, headers: dict[str, str] | None = None, data: bytes = b"") -> Answer:
    def answer(handler: Handler) -> None:
        handler.head(status, {"Content-Length": str(len(data))} | (headers or {}))
        handler.body(data)

    return answer


def until_closed(data: bytes) -> Answer:
    """Say nothing of the length: only the end of the connection ends the file."""

    def answer(handler: Handler) -> None:
        handler.head(200, {})
        handler.body(data)

    return answer
