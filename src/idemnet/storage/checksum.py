"""What a downloaded file was when it arrived: its bytes and its sha256, recorded beside it."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from idemnet.system.progress import count_bytes

CHUNK = 1 << 20


def hash_file(path: Path) -> str:
    """Compute the sha256 of a file, however large."""
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
    """Size and sha256 of a whole file, kept as `NAME.sha256`, which `sha256sum -c` understands."""

    size: int
    sha256: str

    @staticmethod
    def path_for(path: Path) -> Path:
        return path.with_name(f"{path.name}.sha256")

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read what was recorded of a file; None if there is nothing that can be read."""
        try:
            text = cls.path_for(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        found = re.match(r"# (\d+) bytes\n([0-9a-f]{64})  ", text)
        return cls(int(found[1]), found[2]) if found else None

    def write(self, path: Path, workspace: Path) -> None:
        """Record it beside the file at `path`, whole or not at all, by way of a folder of ours."""
        temporary = workspace / "record"
        with temporary.open("w", encoding="utf-8") as file:
            file.write(f"# {self.size} bytes\n{self.sha256}  {path.name}\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path_for(path))
