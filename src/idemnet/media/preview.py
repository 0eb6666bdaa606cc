"""Preview pictures of datasets for kedro-viz."""

import base64
from collections.abc import Sequence

import cv2
import numpy as np
from kedro_datasets._typing import ImagePreview

from idemnet.imaging.image import Image
from idemnet.media.image_files import encode_png

HEIGHT = 180

__all__ = ["ImagePreview", "contact_sheet"]


def contact_sheet(images: Sequence[Image], columns: int = 3) -> ImagePreview:
    """Return images in rows, all at the same size."""
    width = max(1, round(images[0].shape[1] * HEIGHT / images[0].shape[0]))
    size = (width, HEIGHT)
    tiles = [np.uint8(cv2.resize(one, size, interpolation=cv2.INTER_AREA)) for one in images]
    blank = np.full_like(tiles[0], 255)
    rows = [tiles[at : at + columns] for at in range(0, len(tiles), columns)]
    full = [np.hstack(row + [blank] * (min(columns, len(tiles)) - len(row))) for row in rows]
    return ImagePreview(base64.b64encode(encode_png(np.vstack(full))).decode())
