"""Make the README's opening picture: `python docs/make_pictures.py ../shared/real WEIGHTS`.

Crops at 100% of real GoPro test pictures (CC BY 4.0, Nah et al., CVPR 2017) that nothing was
trained on: blurred, restored once, restored ten times, each time from the saved file, and the last
with WEIGHTS of the same training just before its second pass joined: the average in its checkpoint
at the end of `single_pass_epochs`. A training with `passes: 1` gives such weights, too.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

from idemnet import Restorer
from idemnet.imaging.image import Image as Pixels

DOCS = Path(__file__).parent
SHOWN = (
    ("GOPR0385_11_01-003087", (160, 470)),
    ("GOPR0384_11_05-004027", (370, 270)),
    ("GOPR0881_11_01-000228", (280, 130)),
)
"""Pictures, and the top left corner of what is shown of each."""
HEIGHT, WIDTH, GAP, PASSES = 200, 240, 4, 10


def main(real: Path, without: str) -> None:
    restorers = Restorer.load("deblur"), Restorer.load(without)
    rows = []
    for name, (top, left) in SHOWN:
        with Image.open(real / f"gopro_test/blur/{name}.webp") as picture:
            blurred = np.asarray(picture.convert("RGB"))
        (once, *_, ten), (*_, ten_without) = (_repeat(restore, blurred) for restore in restorers)
        window = np.s_[top : top + HEIGHT, left : left + WIDTH]
        rows.append(_join([one[window] for one in (blurred, once, ten, ten_without)], axis=1))
    Image.fromarray(_join(rows, axis=0)).save(DOCS / "restored.jpg", quality=92)


def _repeat(restore: Restorer, blurred: Pixels) -> list[Pixels]:
    passes = [blurred]
    for _ in range(PASSES):
        passes.append(restore(passes[-1]))
    return passes[1:]


def _join(images: list[Pixels], axis: int) -> Pixels:
    """Put images beside or below each other, with a white gap between them."""
    shape = list(images[0].shape)
    shape[axis] = GAP
    gap = np.full(shape, 255, np.uint8)
    parts = [part for image in images for part in (image, gap)][:-1]
    return np.concatenate(parts, axis=axis)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
