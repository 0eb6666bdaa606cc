"""Get a published archive: whole and verified under its name, or not there at all."""

import logging
import os
import re
import shutil
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.filesize import decimal

from idemnet.errors import BadInputError
from idemnet.fetch.address import Address
from idemnet.fetch.partial import Partial, sweep
from idemnet.fetch.transfer import BrokenTransferError, transfer
from idemnet.storage.atomic import FULL, NoRoomError
from idemnet.storage.checksum import Record, hash_file

logger = logging.getLogger(__name__)

FIRST_WAIT, LONGEST_WAIT = 0.2, 5.0
"""Seconds between a broken transfer and the next try; doubled each time."""


def fetch(
    addresses: Sequence[str], folder: Path, *, sha256: str | None, retries: int, timeout: float
) -> Path:
    """Return the path of a zip file that is whole, from the first address that has it.

    What is here already, a local file or an earlier download, is used before anything is sent for.
    A local file is used in place. The folder belongs to this one archive: all addresses are taken
    to be the same file.

    Args:
        addresses: http or https addresses or paths, tried in order.
        folder: Where downloads go, beside a record of their sha256.
        sha256: Of the file; None if its publisher gives none.
        retries: How often a broken transfer is taken up again, for each address.
        timeout: Seconds without a byte after which a transfer counts as broken.

    Raises:
        BadInputError: If no address has it; for each, says what was expected and what was got.

    """
    refusals: list[str] = []
    remote: list[Address] = []
    for text in addresses:
        try:
            address = Address.parse(text) if re.match(r"(?i)https?:|[^/]*://", text) else None
            path = Path(text) if address is None else folder / address.file_name
            if _is_here(path, sha256, downloaded=address is not None):
                return path
        except BadInputError as error:
            refusals.append(str(error))
        else:
            remote += [address] if address else []
    for address in _without_downgrade(remote, refusals):
        try:
            return _download(address, folder, sha256, retries, timeout)
        except NoRoomError:
            raise
        except BadInputError as error:
            refusals.append(f"{address.shown}: {error}")
    raise BadInputError("; ".join(refusals) or "expected an address to download from, got none")


def _is_here(path: Path, sha256: str | None, *, downloaded: bool) -> bool:
    """Whether the file needs no download. An earlier download is known by its record."""
    if not os.path.isfile(path):  # noqa: PTH113, as Path.is_file raises on a forbidden folder
        if downloaded:
            return False
        got = "a folder" if os.path.isdir(path) else "none"  # noqa: PTH112
        raise BadInputError(f"{path}: expected a file, got {got}")
    record = Record.read(path) if downloaded else None
    if record and record.size != path.stat().st_size:
        logger.warning("%s has changed since it was downloaded: downloading it again", path)
        return False
    if sha256 is None:
        return not downloaded or record is not None
    try:
        got = record.sha256 if record else hash_file(path)
    except OSError as error:
        raise BadInputError(
            f"{path}: expected a readable file, got: {error.strerror or error}"
        ) from error
    if got != sha256:
        hint = ": remove it to download it again, or correct the sha256" if downloaded else ""
        raise BadInputError(f"{path}: expected sha256 {sha256}, got {got}{hint}")
    return True


def _without_downgrade(remote: list[Address], refusals: list[str]) -> Iterator[Address]:
    """Leave out http after https: whoever can block the one can listen to the other."""
    secure = False
    for address in remote:
        secure = secure or address.secure
        if secure and not address.secure:
            refusals.append(f"{address.shown}: not tried, as it is http and comes after https")
        else:
            yield address


def _download(
    address: Address, folder: Path, sha256: str | None, retries: int, timeout: float
) -> Path:
    path = folder / address.file_name
    with _disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with Partial.claim(folder, address) as partial, _room_made(partial):
            _try_often(address, partial, retries, timeout)
            _verify(partial, sha256)
            partial.publish(path)
        sweep(folder, address.file_name)
    logger.info("%s is %s from %s", path, decimal(partial.size), address.shown)
    return path


def _try_often(address: Address, partial: Partial, retries: int, timeout: float) -> None:
    for failures in range(retries + 1):
        try:
            transfer(address, partial, timeout)
            break
        except BrokenTransferError as error:
            if failures == retries:
                raise BadInputError(f"{error}, at try {failures + 1} of {retries + 1}") from error
            wait = min(FIRST_WAIT * 2**failures, LONGEST_WAIT)
            logger.warning("%s: %s; trying again in %.1f s", address.shown, error, wait)
            time.sleep(wait)


def _verify(partial: Partial, sha256: str | None) -> None:
    """Check a whole file; a wrong one is not kept, as continuing it would never end well."""
    got = partial.digest.hexdigest()
    if sha256 is not None and got != sha256:
        partial.discard()
        raise BadInputError(f"expected sha256 {sha256}, got {got} ({partial.size} bytes)")
    if sha256 is None and not zipfile.is_zipfile(partial.folder / "body"):
        partial.discard()
        raise BadInputError(f"expected a whole zip file, got {partial.size} bytes without its end")


@contextmanager
def _room_made(partial: Partial) -> Iterator[None]:
    """On a full disk, give back the room that the partial file has taken."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        total, folder = partial.origin.total, partial.folder.parent
        needed = "an unknown size" if total is None else decimal(total)
        partial.discard()
        raise NoRoomError(
            f"{folder}: {error.strerror} after {decimal(partial.size)} of a download: {needed} "
            f"is needed and {decimal(shutil.disk_usage(folder).free)} is free"
        ) from error


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise NoRoomError(f"{folder}: {error.strerror}") from error
        raise BadInputError(
            f"expected to write to {folder}, got: {error.strerror or error}"
        ) from error
