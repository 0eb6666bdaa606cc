"""Record the size and sha256 of a downloaded file next to it."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from idemnet.storage.atomic import write_atomic
from idemnet.system.progress import count_bytes

CHUNK = 1 << 20


def hash_file(path: Path) -> str:
    """Compute the sha256 of a file in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        with count_bytes(f"checking {path.name}", total=size) as advance:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                advance(len(chunk))
    return digest.hexdigest()


@dataclass(frozen=True)
class Record:
    """Size and sha256 of a complete file, stored as `NAME.sha256` for `sha256sum -c`."""

    size: int
    sha256: str

    @staticmethod
    def path_for(path: Path) -> Path:
        return path.with_name(f"{path.name}.sha256")

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read the record of a file; None if it is missing or invalid."""
        try:
            text = cls.path_for(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        found = re.match(r"# (\d+) bytes\n([0-9a-f]{64})  ", text)
        return cls(int(found[1]), found[2]) if found else None

    def write(self, path: Path) -> None:
        """Write the record next to the file at `path`."""
        text = f"# {self.size} bytes\n{self.sha256}  {path.name}\n"
        write_atomic(self.path_for(path), [text.encode()])
