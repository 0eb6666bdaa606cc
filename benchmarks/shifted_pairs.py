"""Pictures that score below their input: is the sharp one of their pair shifted?

    python benchmarks/shifted_pairs.py SCORES/images.csv ../gopro_third/test

Some of GoPro's sharp pictures are a few pixels beside their blurred ones. A sharper result then
scores worse than a blurred one. For every picture with a negative gain, prints PSNR of both as they
are, and each at the whole shift of up to 8 pixels that suits it best; borders are left out.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from real_pictures import read

from idemnet import Restorer
from idemnet.imaging.image import Image
from idemnet.imaging.metrics import psnr

BORDER = 16
SHIFTS = [(down, right) for down in range(-8, 9) for right in range(-8, 9)]


def main(scores: Path, pairs: Path) -> None:
    restore = Restorer.load("deblur")
    print(
        "| picture | blurred | restored | blurred, shifted | restored, shifted | by (down, right) |"
    )
    print("|---|---|---|---|---|---|")
    with scores.open(encoding="utf-8") as file:
        losing = [row for row in csv.DictReader(file) if float(row["gain"]) < 0]
    for row in losing:
        sequence = row["sequence"].rpartition("/")[2]
        blurred, sharp = (
            read(pairs / sequence / kind / f"{row['frame']}.png") for kind in ("blur", "sharp")
        )
        images = blurred, restore(blurred)
        plain = [compare(image, sharp, (0, 0)) for image in images]
        best = [max((compare(image, sharp, shift), shift) for shift in SHIFTS) for image in images]
        numbers = [*plain, *(value for value, _ in best)]
        cells = " | ".join(f"{value:.2f}" for value in numbers)
        print(f"| {sequence}-{row['frame']} | {cells} | {best[1][1]} |")


def compare(image: Image, sharp: Image, shift: tuple[int, int]) -> float:
    inner = np.s_[BORDER:-BORDER, BORDER:-BORDER]
    return psnr(np.roll(image, shift, (0, 1))[inner], sharp[inner])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
