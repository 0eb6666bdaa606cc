"""Read files of torch.save as tensors and plain values, never as code."""

import io
import zipfile
from pathlib import Path
from typing import Any

import torch

from idemnet.errors import BadInputError
from idemnet.storage.atomic import display_path

ZIP = b"PK"
"""Magic bytes of formats that may be compressed; torch's older format never is."""


def load_tensors(data: bytes, file: Path) -> Any:
    """Read the content of a file.

    Raises:
        BadInputError: If it contains anything else, or is compressed, which torch.save never does.
    """
    try:
        packed = data.startswith(ZIP) and _is_packed(data)
        if not packed:
            return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # any exception: the bytes are untrusted
        raise BadInputError(
            f"{display_path(file)}: rejected, not a file of plain tensors"
        ) from error
    raise BadInputError(f"{display_path(file)}: rejected, compressed, which torch.save never does")


def _is_packed(data: bytes) -> bool:
    """Detect files that could unpack to far more than they are."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return any(member.file_size > member.compress_size for member in archive.infolist())
