"""Images come back as they were written, by whatever decoder."""

import io

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PillowImage

from idemnet.media.image_files import decode_image, encode_png

RGB = np.random.default_rng(0).integers(0, 256, (6, 5, 3), np.uint8)


def saved(image: PillowImage.Image, kind: str = "PNG", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def test_rgb_comes_back_as_it_was():
    assert (decode_image(encode_png(RGB), "a.png") == RGB).all()
    assert (decode_image(saved(PillowImage.fromarray(RGB), "TIFF"), "a.tif") == RGB).all()
    assert (
        decode_image(saved(PillowImage.fromarray(RGB), "WEBP", lossless=True), "a.webp") == RGB
    ).all()


@given(
    shape=st.tuples(st.integers(1, 20), st.integers(1, 20)), seed=st.integers(0, 99),
    kind=st.sampled_from(["rgb", "grey", "deep"]),
)  # fmt: skip
def test_what_we_encode_every_decoder_reads(shape, seed, kind):
    random = np.random.default_rng(seed)
    if kind == "deep":
        image = random.integers(0, 65536, shape, np.uint16)
    else:
        image = random.integers(0, 256, (*shape, 3) if kind == "rgb" else shape, np.uint8)
    data = encode_png(image)
    by_opencv = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    assert (by_opencv == (image[..., ::-1] if kind == "rgb" else image)).all()
    by_pillow = PillowImage.open(io.BytesIO(data))
    by_pillow.verify()
    assert (np.asarray(PillowImage.open(io.BytesIO(data))) == image).all()


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_it_does_not_matter_how_an_image_lies_in_memory(kind):
    image = np.arange(60, dtype=kind).reshape(3, 4, 5).transpose(1, 2, 0)
    assert encode_png(image) == encode_png(image.copy())
