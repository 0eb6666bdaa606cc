"""Download a published archive atomically, verified."""

import logging
import os
import re
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from rich.filesize import decimal

from idemnet.errors import BadInputError
from idemnet.fetch.address import check_address, file_name, hide_secrets
from idemnet.fetch.hub import HubFile, locate
from idemnet.fetch.transfer import Partial, receive
from idemnet.storage.atomic import FULL, NoRoomError, raise_if_disk_full
from idemnet.storage.checksum import Record, hash_file

logger = logging.getLogger(__name__)

FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0
"""Seconds before the first retry of a broken transfer; doubled each time."""


def fetch(
    addresses: Sequence[str], folder: Path, *, sha256: str | None, retries: int, timeout: float
) -> Path:
    """Return the path of a complete zip file, from the first address that has it.

    Local files and earlier downloads are used before anything is requested.

    Args:
        addresses: Addresses of the file, tried in order: paths, or http, https or hf.
        folder: Folder for downloads and records of their sha256.
        sha256: Expected sha256; None if the publisher gives none.
        retries: How often a broken transfer is resumed, for each address.
        timeout: Seconds without data after which a transfer counts as broken.

    Raises:
        BadInputError: If no address has it, with the expected and actual response of each.
    """
    errors: list[str] = []
    remote: list[str] = []
    for text in addresses:
        try:
            if not re.match(r"(?i)https?:|[^/]*://", text):
                return _check_local_file(Path(text), sha256)
            address = check_address(text)
            path = folder / file_name(address)
            if _is_downloaded(path, sha256):
                return path
            remote.append(address)
        except BadInputError as error:
            errors.append(str(error))
    secure = False
    for address in remote:
        shown = hide_secrets(address)
        if secure and address.startswith("http:"):  # an attacker who blocks https can read http
            errors.append(f"{shown}: not tried, because it is http and comes after https")
            continue
        secure = secure or not address.startswith("http:")
        try:
            return _download(address, folder / file_name(address), sha256, retries, timeout)
        except NoRoomError:
            raise
        except BadInputError as error:
            errors.append(f"{shown}: {error}")
    raise BadInputError("; ".join(errors) or "expected an address to download from, got none")


def _check_local_file(path: Path, sha256: str | None) -> Path:
    try:
        path.open("rb").close()
        got = hash_file(path) if sha256 else None
    except OSError as error:
        raise BadInputError(f"{path}: expected a file, got: {error.strerror}") from error
    if got != sha256:
        raise BadInputError(f"{path}: expected sha256 {sha256}, got {got}")
    return path


def _is_downloaded(path: Path, sha256: str | None) -> bool:
    """Return whether a file was downloaded earlier: then it has a record, or the sha256."""
    record = Record.read(path)
    if not os.path.isfile(path) or not (record or sha256):  # noqa: PTH113, it never raises
        return False
    if record and record.size != path.stat().st_size:
        logger.warning("%s has changed since it was downloaded: downloading it again", path)
        return False
    got = record.sha256 if record else hash_file(path)
    if sha256 not in (None, got):
        hint = "remove it to download it again, or correct the sha256"
        raise BadInputError(f"{path}: expected sha256 {sha256}, got {got}: {hint}")
    return True


def _download(address: str, path: Path, sha256: str | None, retries: int, timeout: float) -> Path:
    for tries in count(1):
        try:
            is_on_hub = address.startswith("hf:")
            file = locate(address, timeout) if is_on_hub else HubFile(address, sha256, {})
            if sha256 and file.sha256 not in (None, sha256):
                raise BadInputError(f"expected sha256 {sha256}, got {file.sha256}")
            partial = Partial(path, file.url)
            with _disk_errors(partial):
                path.parent.mkdir(parents=True, exist_ok=True)
                receive(file.url, partial, timeout, file.headers)
                partial.publish(path, _verify(partial, sha256 or file.sha256))
            break
        except ConnectionError as error:
            if tries > retries:
                raise BadInputError(f"{error} (attempt {tries} of {tries})") from error
            wait = min(FIRST_WAIT * 2 ** (tries - 1), LONGEST_WAIT)
            logger.warning("%s: %s; retrying in %.1f s", hide_secrets(address), error, wait)
            time.sleep(wait)
    logger.info("%s is %s from %s", path, decimal(path.stat().st_size), hide_secrets(address))
    return path


def _verify(partial: Partial, sha256: str | None) -> str:
    """Return the sha256 of a complete file; a wrong file is deleted, as resuming cannot fix it."""
    with partial.path.open("rb") as file:
        start = file.read(4)
    if start not in (b"PK\x03\x04", b"PK\x05\x06"):
        problem = f"expected a zip file, got one that starts with {start!r}"
    elif not zipfile.is_zipfile(partial.path):
        problem = f"expected a zip file, got {partial.size} bytes without the end"
        if partial.said["total"] is None:
            raise ConnectionError(problem)
    elif sha256 not in (None, got := hash_file(partial.path)):
        problem = f"expected sha256 {sha256}, got {got}"
    else:
        return got
    partial.discard()
    raise BadInputError(problem)


@contextmanager
def _disk_errors(partial: Partial) -> Iterator[None]:
    """Report disk errors; on a full disk, delete the partial file."""
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        needed, folder = partial.said["total"] or partial.size, partial.path.parent
        if error.errno in FULL:
            partial.discard()
        raise_if_disk_full(error, partial.path, needed)
        raise BadInputError(f"expected to write to {folder}, got: {error.strerror}") from error
    finally:
        if not partial.size:
            partial.discard()
