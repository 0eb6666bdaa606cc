"""One try at getting the rest of a file over http."""

import http
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

import requests
from rich.filesize import decimal

from idemnet.errors import BadInputError
from idemnet.fetch.address import Address
from idemnet.fetch.partial import Origin, Partial
from idemnet.storage.atomic import NoRoomError
from idemnet.system.progress import count_bytes

CHUNK = 1 << 16
HOPS = 10
ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")
BUSY = (408, 429)


class BrokenTransferError(Exception):
    """A transfer that may succeed when it is taken up again."""


class _Session(requests.Session):
    """Leaves redirects to us: requests would read their bodies, however long."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None

    def location(self, response: requests.Response) -> str | None:
        return super().get_redirect_target(response)


def transfer(address: Address, partial: Partial, timeout: float) -> None:
    """Request the bytes that are missing and append them.

    Raises:
        BrokenTransferError: If it is worth another try; what came is kept.
        BadInputError: If it is not.

    """
    if partial.whole:
        return
    with (
        _plain_errors(partial, timeout),
        _Session() as session,
        _ask(session, address, _range(partial), timeout) as response,
    ):
        if _settle(response, partial):
            _check_room(response, partial)
            _receive(response, partial)


@contextmanager
def _plain_errors(partial: Partial, timeout: float) -> Iterator[None]:
    """Describe what broke; never in the words of requests, which quote the whole address."""
    try:
        yield
    except requests.exceptions.SSLError as error:
        raise BadInputError(f"expected a trusted certificate, got: {_cause(error)}") from None
    except (
        requests.ConnectionError,
        requests.Timeout,
        requests.exceptions.ChunkedEncodingError,
    ) as error:
        cause = _cause(error)
        why = f"no byte for {timeout:g} s" if isinstance(cause, TimeoutError) else str(cause)
        raise BrokenTransferError(f"{_expected(partial)} ({why})") from None
    except requests.RequestException as error:
        kind = type(error).__name__
        raise BadInputError(f"expected an answer, got an unusable one ({kind})") from None


def _cause(error: BaseException) -> BaseException | str:
    """Find what the system said at the bottom of a chain of errors."""
    found: BaseException | str = "the connection was cut"
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, TimeoutError):
            found = link
        elif isinstance(link, OSError) and link.strerror:
            found = link.strerror
        link = link.__cause__ or link.__context__
    return found


def _expected(partial: Partial) -> str:
    total = partial.origin.total
    whole = "a whole file" if total is None else f"{total} bytes"
    return f"expected {whole}, got {partial.size} bytes"


def _range(partial: Partial) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity"}
    if partial.size:
        headers["Range"] = f"bytes={partial.size}-"
        if partial.origin.validator:
            headers["If-Range"] = partial.origin.validator
    return headers


def _ask(
    session: _Session, address: Address, headers: dict[str, str], timeout: float
) -> requests.Response:
    """Follow redirects one by one, each looked at before it is followed."""
    for _ in range(HOPS):
        response = session.get(
            address.url,
            auth=address.login,
            headers=headers,
            timeout=timeout,
            stream=True,
            allow_redirects=False,
        )
        location = session.location(response)
        if location is None:
            return response
        response.close()
        address = address.follow(location)
    raise BadInputError(f"expected a file, got more than {HOPS} redirects")


def _settle(response: requests.Response, partial: Partial) -> bool:
    """Decide from the answer's head where its bytes go; False if there is nothing to receive."""
    if response.status_code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and partial.size:
        if response.headers.get("Content-Range") == f"bytes */{partial.size}":
            return False
        _start_over(partial, "has no such range any more")
    _check_head(response)
    if response.status_code == http.HTTPStatus.OK:
        partial.restart(_origin(response, partial, _length(response)))
    elif not _continues(response, partial):
        _start_over(partial, "has changed")
    return True


def _start_over(partial: Partial, reason: str) -> None:
    known = f"{partial.size} bytes and the rest of the file"
    partial.restart(Origin(partial.origin.key))
    raise BrokenTransferError(f"expected {known}, got one that {reason}")


def _check_head(response: requests.Response) -> None:
    status = response.status_code
    if status not in (http.HTTPStatus.OK, http.HTTPStatus.PARTIAL_CONTENT):
        phrases = {known.value: known.phrase for known in http.HTTPStatus}
        message = f"expected a zip file, got {status} {phrases.get(status, '')}".rstrip()
        if status >= 500 or status in BUSY:
            raise BrokenTransferError(message)
        raise BadInputError(message)
    kind = response.headers.get("Content-Type", "")
    if kind.lower().startswith(("text/html", "application/xhtml")):
        raise BadInputError(f"expected a zip file, got a web page ({kind[:60]!r})")
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise BadInputError(f"expected the bytes as they are, got encoding {encoding[:60]!r}")


def _continues(response: requests.Response, partial: Partial) -> bool:
    """Whether the bytes fit onto those that are there: servers may overlook If-Range."""
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    if not found or int(found[1]) != partial.size or not partial.size:
        return False
    total = None if found[2] == "*" else int(found[2])
    before, now = partial.origin, _origin(response, partial, total)
    pairs = ((before.etag, now.etag), (before.modified, now.modified), (before.total, now.total))
    return all(a == b for a, b in pairs if a is not None and b is not None)


def _origin(response: requests.Response, partial: Partial, total: int | None) -> Origin:
    headers = response.headers
    return Origin(partial.origin.key, headers.get("ETag"), headers.get("Last-Modified"), total)


def _length(response: requests.Response) -> int | None:
    text = response.headers.get("Content-Length", "")
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def _check_room(response: requests.Response, partial: Partial) -> None:
    needed, free = _length(response), shutil.disk_usage(partial.folder).free
    if needed is not None and needed > free:
        raise NoRoomError(
            f"{partial.folder.parent} needs {decimal(needed)} for the download "
            f"and has {decimal(free)} free"
        )


def _receive(response: requests.Response, partial: Partial) -> None:
    total = partial.origin.total
    with count_bytes(f"downloading {partial.name}", done=partial.size, total=total) as advance:
        for chunk in response.iter_content(CHUNK):
            begun = partial.size >= 4
            partial.append(chunk)
            advance(len(chunk))
            if not begun and partial.size >= 4:
                _check_start(partial)
    _check_start(partial)
    if total is not None and partial.size < total:
        raise BrokenTransferError(_expected(partial))
    if total is not None and partial.size > total:
        _start_over(partial, f"is longer than the {total} bytes it was said to have")
    if total is None and not zipfile.is_zipfile(partial.folder / "body"):
        raise BrokenTransferError(f"{_expected(partial)} without the end of a zip file")


def _check_start(partial: Partial) -> None:
    head = partial.head()
    if head not in ZIP_STARTS:
        partial.discard()
        raise BadInputError(f"expected a zip file, got one that starts with {head!r}")
