"""Download addresses: validate them, and hide their secrets."""

import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

from idemnet.errors import BadInputError

NAME_BYTES = 120
"""Longest name of a downloaded file, with room for the suffix of a partial file."""


def check_address(address: str, base: str = "") -> str:
    """Return an address, resolved against a base.

    Raises:
        BadInputError: If it is not an http, https or hf address; the message shows no password.
    """
    try:
        parts = urlsplit(urljoin(base, address.strip()))
        usable = parts.hostname is not None and (parts.port or True)
    except ValueError:
        usable = False
    if not usable:
        # Not shown: a password with a slash is parsed as another part of the address.
        raise BadInputError(
            "one of the addresses cannot be read as an address: expected https://host/path, "
            "with special characters of a user name or password percent-encoded"
        )
    if parts.scheme not in ("http", "https", "hf"):
        raise BadInputError(
            f"{parts.scheme}://{parts.hostname}: expected an http, https or hf address, "
            f"or the path of a file, got the scheme {parts.scheme!r}"
        )
    return parts.geturl()


def hide_secrets(address: str) -> str:
    """Return an address for messages, without user, password and query, which may be secret."""
    parts = urlsplit(address)
    bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return re.sub(r"[^\x21-\x7e]", "_", bare) + ("?..." if parts.query else "")


def file_name(address: str) -> str:
    """Return the last part of an address's path as a safe file name."""
    last = PurePosixPath(unquote(urlsplit(address).path)).name
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", last).lstrip(".-")
    return safe[-NAME_BYTES:].lstrip(".-") or "archive.zip"
