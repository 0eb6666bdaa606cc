"""Where a file is downloaded from, and how that may be shown."""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Self
from urllib.parse import unquote, urljoin, urlsplit

from idemnet.errors import BadInputError

NAME_BYTES = 120
"""Of a downloaded file's name: leaves room for what is added to the name of a partial file."""


@dataclass(frozen=True)
class Address:
    """An http or https address without its user name and password."""

    url: str
    login: tuple[str, str] | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take the user name and password out of an address.

        Raises:
            BadInputError: If it is not an http or https address.

        """
        try:
            parts = urlsplit(text.strip())
            port, host = parts.port, parts.hostname
        except ValueError:
            port, host = None, None
        if not host or "@" in host:
            # Not shown: a password with a slash in it ends up in the wrong part of the address.
            raise BadInputError(
                "one of the addresses cannot be read as an address: expected https://host/path, "
                "with special characters of a user name or password percent-encoded"
            )
        if parts.scheme not in ("http", "https"):
            raise BadInputError(
                f"{parts.scheme}://{host}: expected an http or https address, "
                f"or the path of a file, got the scheme {parts.scheme!r}"
            )
        netloc = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        login = None
        if parts.username is not None:
            login = (unquote(parts.username), unquote(parts.password or ""))
        return cls(parts._replace(netloc=netloc, fragment="").geturl(), login)

    def follow(self, location: str) -> "Address":
        """Where a redirect leads: never from https to http, the password only to its own host.

        Raises:
            BadInputError: If it leads where no download may go.

        """
        try:
            joined = urljoin(self.url, location)
        except ValueError:
            joined = ""
        there = Address.parse(joined)
        if self.secure and not there.secure:
            raise BadInputError(f"expected https all the way, got redirected to {there.shown}")
        same_host = urlsplit(self.url)[:2] == urlsplit(there.url)[:2]
        return Address(there.url, there.login or (self.login if same_host else None))

    @property
    def shown(self) -> str:
        """The address for messages: a query may hold a key, so it is left out as well."""
        bare, question, _ = self.url.partition("?")
        return re.sub(r"[^\x21-\x7e]", "_", bare) + ("?..." if question else "")

    @property
    def file_name(self) -> str:
        """The last part of the path, as a file name that is safe anywhere."""
        last = PurePosixPath(unquote(urlsplit(self.url).path)).name
        safe = re.sub(r"[^A-Za-z0-9._-]", "_", last).lstrip(".-")
        return safe[-NAME_BYTES:].lstrip(".-") or "archive.zip"

    @property
    def key(self) -> str:
        """Tells addresses apart without giving them away."""
        return hashlib.sha256(self.url.encode()).hexdigest()

    @property
    def secure(self) -> bool:
        return self.url.startswith("https:")
