"""Download a zip file over http or https, resuming earlier attempts."""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from http.client import OK, PARTIAL_CONTENT, REQUESTED_RANGE_NOT_SATISFIABLE, responses
from pathlib import Path
from typing import Any

import requests

from idemnet.errors import BadInputError
from idemnet.fetch.address import check_address, hide_secrets
from idemnet.storage.atomic import check_free_disk, make_durable, write_all, write_atomic
from idemnet.storage.checksum import Record
from idemnet.system.progress import count_bytes

CHUNK = 1 << 16


class Partial:
    """A partial download, with a JSON file of what the server said about it."""

    def __init__(self, path: Path, url: str) -> None:
        self.name = path.name
        key = hashlib.sha256(url.encode()).hexdigest()[:12]  # hashed: it may contain a password
        self.path = path.with_name(f"{path.name}.{key}.part")
        self._note = path.with_name(f"{self.path.name}.json")
        self.said: dict[str, Any] = {"version": None, "total": None}
        try:
            self.said |= json.loads(self._note.read_bytes())
        except (OSError, ValueError):
            self.discard()

    @property
    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def restart(self, said: dict[str, Any]) -> None:
        """Discard the bytes and start over with the file that the server describes."""
        self.discard()
        self.said = said
        write_atomic(self._note, [json.dumps(said).encode()])

    def discard(self) -> None:
        for path in (self.path, self._note):
            with suppress(OSError):
                path.unlink()

    def publish(self, path: Path, sha256: str) -> None:
        """Rename the file to its final name, after writing its sha256 record."""
        Record(self.size, sha256).write(path)
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
        self.path.replace(path)
        make_durable(path.parent)
        for rest in path.parent.glob(f"{path.name}.*.part*"):  # also those of other addresses
            rest.unlink()


def receive(url: str, partial: Partial, timeout: float, headers: Mapping[str, str]) -> None:
    """Request the missing bytes and append them.

    Raises:
        ConnectionError: If a retry may help; received bytes are kept.
        BadInputError: If a retry cannot help.
    """
    size, said = partial.size, partial.said
    if size and size == said["total"]:
        return
    asked = {**headers, "Accept-Encoding": "identity"}
    if size:
        asked |= {"Range": f"bytes={size}-"}
        asked |= {"If-Range": said["version"]} if said["version"] else {}
    hooks = {"response": _check_redirect}
    try:
        with requests.get(
            url, headers=asked, timeout=timeout, stream=True, hooks=hooks
        ) as response:
            _append(response, partial)
    except requests.RequestException as error:  # its message would quote the whole address
        cause: BaseException = error
        while (below := cause.__cause__ or cause.__context__) is not None:
            cause = below
        why = getattr(cause, "strerror", None) or type(cause).__name__
        whole = partial.said["total"] or "all"
        raise ConnectionError(f"expected {whole} bytes, got {partial.size} bytes ({why})") from None


def _check_redirect(response: requests.Response, **_: Any) -> None:
    """Reject redirects from https to http; called for every response."""
    if response.is_redirect:
        response.close()  # requests would read the whole body
        target = check_address(response.headers["Location"], response.url)
        if response.url.startswith("https:") and not target.startswith("https:"):
            shown = hide_secrets(target)
            raise BadInputError(f"expected https all the way, got redirected to {shown}")


def _append(response: requests.Response, partial: Partial) -> None:
    size, said, status = partial.size, partial.said, response.status_code
    now = {} if status == REQUESTED_RANGE_NOT_SATISFIABLE else _describe(response)
    # Servers may ignore If-Range.
    same = all(None in (now[key], said[key]) or now[key] == said[key] for key in now)
    rest = response.headers.get("Content-Range", "").startswith(f"bytes {size}-")
    if status == OK:
        partial.restart(now)
        size = 0
    elif not (size and rest and same):
        partial.discard()
        raise ConnectionError(f"expected the rest after {size} bytes, got another file")
    total = partial.said["total"]
    check_free_disk(partial.path.parent, (total or 0) - size)
    with (
        partial.path.open("ab", buffering=0) as file,
        count_bytes(f"downloading {partial.name}", done=size, total=total) as advance,
    ):
        for chunk in response.iter_content(CHUNK):
            write_all(file, chunk)
            advance(len(chunk))
    if partial.size != total is not None:
        raise ConnectionError(f"expected {total} bytes, got {partial.size} bytes")


def _describe(response: requests.Response) -> dict[str, Any]:
    """Return what identifies the version of a file; reject responses that are not one."""
    status, headers = response.status_code, response.headers
    kind, encoding = headers.get("Content-Type", ""), headers.get("Content-Encoding", "identity")
    if status >= 500 or status in (408, 429):
        raise ConnectionError(f"expected a zip file, got {status} {responses.get(status, '')}")
    if status not in (OK, PARTIAL_CONTENT):
        raise BadInputError(f"expected a zip file, got {status} {responses.get(status, '')}")
    if kind.lower().startswith(("text/html", "application/xhtml")):
        raise BadInputError(f"expected a zip file, got a web page ({kind[:60]!r})")
    if encoding.lower() != "identity":
        raise BadInputError(f"expected the bytes as they are, got encoding {encoding[:60]!r}")
    etag, modified = headers.get("ETag", "W/"), headers.get("Last-Modified")
    length = headers.get("Content-Range", headers.get("Content-Length", "")).rpartition("/")[2]
    return {
        "version": modified if etag.startswith("W/") else etag,
        "total": int(length[:18]) if length.isdecimal() else None,
    }
