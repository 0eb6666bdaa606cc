"""The part of a file that has arrived: kept when a process dies, continued by the next."""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from idemnet.fetch.address import Address
from idemnet.storage.atomic import make_durable, write_all
from idemnet.storage.checksum import CHUNK, Record
from idemnet.system.progress import count_bytes


@dataclass(frozen=True)
class Origin:
    """What the server said of the file when its first byte was sent."""

    key: str
    """Of the address."""
    etag: str | None = None
    modified: str | None = None
    total: int | None = None
    """Bytes of the whole file."""

    @property
    def validator(self) -> str | None:
        """What If-Range may carry: only strong tags, or the date."""
        if self.etag and not self.etag.startswith("W/"):
            return self.etag
        return self.modified


class Partial:
    """A folder `NAME.<pid>-<token>.part` with the bytes so far and their origin.

    The bytes are locked as long as a process works on them; the kernel frees the lock of a killed
    one. Folder and not file, so that bytes and origin change hands in one rename.
    """

    def __init__(self, name: str, folder: Path, body: io.FileIO, origin: Origin) -> None:
        self.name, self.folder, self.body, self.origin = name, folder, body, origin
        self.size = 0
        self.digest = hashlib.sha256()

    @classmethod
    def claim(cls, folder: Path, address: Address) -> Self:
        """Continue what a dead process has left of this address, or begin."""
        name = address.file_name
        mine = folder / f"{name}.{os.getpid()}-{secrets.token_hex(4)}.part"
        for orphan, body in _orphans(folder, name):
            origin = _read_origin(orphan)
            if origin is not None and origin.key == address.key:
                orphan.rename(mine)
                partial = cls(name, mine, body, origin)
                partial._hash_what_is_there()
                return partial
            body.close()
        hidden = mine.with_name(f".{mine.name}")  # nobody's orphan until it is locked
        hidden.mkdir()
        body = (hidden / "body").open("x+b", buffering=0)
        fcntl.flock(body, fcntl.LOCK_EX)
        hidden.rename(mine)
        return cls(name, mine, body, Origin(address.key))

    def _hash_what_is_there(self) -> None:
        total = os.fstat(self.body.fileno()).st_size
        with count_bytes(f"checking what is there of {self.name}", total=total) as advance:
            while chunk := self.body.read(CHUNK):
                self.digest.update(chunk)
                self.size += len(chunk)
                advance(len(chunk))

    @property
    def whole(self) -> bool:
        return self.origin.total is not None and self.size == self.origin.total

    def head(self) -> bytes:
        return os.pread(self.body.fileno(), 4, 0)

    def restart(self, origin: Origin) -> None:
        """Forget the bytes; what comes now is of another origin."""
        self.body.truncate(0)
        self.body.seek(0)
        self.size, self.digest, self.origin = 0, hashlib.sha256(), origin
        (self.folder / "origin.json").write_text(json.dumps(asdict(origin)), "utf-8")

    def append(self, chunk: bytes) -> None:
        write_all(self.body, chunk)
        self.digest.update(chunk)
        self.size += len(chunk)

    def publish(self, path: Path) -> None:
        """Rename the file to its name. Its record comes first, so that a named file has one."""
        os.fsync(self.body.fileno())
        Record(self.size, self.digest.hexdigest()).write(path, self.folder)
        (self.folder / "body").replace(path)
        make_durable(path.parent)
        self.discard()

    def discard(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.body.close()
        if self.size == 0:
            self.discard()


def sweep(folder: Path, name: str) -> None:
    """Remove what dead processes have left of a file that is there now."""
    for orphan, body in _orphans(folder, name):
        with body:
            shutil.rmtree(orphan, ignore_errors=True)


def _orphans(folder: Path, name: str) -> Iterator[tuple[Path, io.FileIO]]:
    """Return each partial that no living process holds, locked; the caller closes its bytes."""
    pattern = re.compile(re.escape(name) + r"\.\d+-[0-9a-f]+\.part")
    for path in sorted(path for path in folder.iterdir() if pattern.fullmatch(path.name)):
        with contextlib.suppress(OSError):
            body = (path / "body").open("r+b", buffering=0)
            if _locked(body) and _same(body, path / "body"):
                yield path, body
            else:
                body.close()


def _locked(body: io.FileIO) -> bool:
    try:
        fcntl.flock(body, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _same(body: io.FileIO, path: Path) -> bool:
    """Whether the locked file still has this name: it may have been renamed before the lock."""
    try:
        return os.path.samestat(os.fstat(body.fileno()), path.stat())
    except OSError:
        return False


def _read_origin(folder: Path) -> Origin | None:
    try:
        return Origin(**json.loads((folder / "origin.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
