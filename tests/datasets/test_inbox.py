"""The inbox takes what `idemnet restore` takes, and names results alike."""

import numpy as np
from PIL import Image as PillowImage

from idemnet.datasets.inbox import InboxDataset
from idemnet.media.image_files import register_heif


def test_every_kind_of_picture_is_found_under_the_name_of_its_result(tmp_path):
    register_heif()
    (tmp_path / "sub").mkdir()
    picture = PillowImage.fromarray(np.full((16, 16, 3), 90, np.uint8))
    for name in ("a.png", "a.gif", "b.gif", "sub/c.heic", "sub/d.avif"):
        picture.save(tmp_path / name)
    (tmp_path / "notes.txt").touch()
    pictures = InboxDataset(str(tmp_path)).load().pictures
    assert set(pictures) == {"a.png", "a.gif.png", "b.png", "sub/c.heic", "sub/d.avif"}
    assert all(read().pixels.shape == (16, 16, 3) for read in pictures.values())
