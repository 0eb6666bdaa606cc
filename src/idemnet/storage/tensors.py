"""What torch.save wrote, here or elsewhere: read as tensors and plain values, never as code."""

import io
import zipfile
from pathlib import Path
from typing import Any

import torch

from idemnet.errors import BadInputError
from idemnet.storage.atomic import shown

ZIP = b"PK"
"""How a file begins that may be packed; torch's older format never is."""


def load_tensors(data: bytes, file: Path) -> Any:
    """Read the content of a file.

    Raises:
        BadInputError: If it holds anything else, or is packed, as torch.save does not.
    """
    try:
        packed = data.startswith(ZIP) and _is_packed(data)
        if not packed:
            return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # of any kind: the bytes are anybody's
        raise BadInputError(f"{shown(file)}: is not a file of tensors alone, refused") from error
    raise BadInputError(f"{shown(file)}: is packed, as torch.save does not, refused")


def _is_packed(data: bytes) -> bool:
    """Detect files that could unpack to far more than they are."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return any(member.file_size > member.compress_size for member in archive.infolist())
