"""Previews of datasets for kedro-viz."""

import base64
from collections.abc import Sequence
from typing import Any, NewType

import cv2
import numpy as np

from idemnet.imaging.image import Image
from idemnet.media.image_files import encode_png

# kedro-viz recognises a preview by the name of its type, as kedro-datasets' private ones have.
ImagePreview = NewType("ImagePreview", str)
PlotlyPreview = NewType("PlotlyPreview", dict[str, Any])
HTMLPreview = NewType("HTMLPreview", str)
"""HTML or Markdown."""

HEIGHT = 180


def contact_sheet(images: Sequence[Image], columns: int = 3) -> ImagePreview:
    """Return images in rows, all at the same size."""
    width = max(1, round(images[0].shape[1] * HEIGHT / images[0].shape[0]))
    size = (width, HEIGHT)
    tiles = [np.uint8(cv2.resize(one, size, interpolation=cv2.INTER_AREA)) for one in images]
    blank = np.full_like(tiles[0], 255)
    rows = [tiles[at : at + columns] for at in range(0, len(tiles), columns)]
    full = [np.hstack(row + [blank] * (min(columns, len(tiles)) - len(row))) for row in rows]
    return ImagePreview(base64.b64encode(encode_png(np.vstack(full))).decode())


def show_picture(content: bytes, kind: str) -> str:
    """Return a picture as HTML, `kind` being png or svg+xml."""
    return f'<img width="100%" src="data:image/{kind};base64,{base64.b64encode(content).decode()}">'
