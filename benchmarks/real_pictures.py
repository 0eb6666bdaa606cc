"""Score weights on real pictures that nothing was trained on: each picture, and the mean.

    python benchmarks/real_pictures.py deblur ../shared/real

For each picture: the PSNR of the input and after passes 1, 2, 3 and 10, each of which restores the
file that the one before would have written (8 bits), by the protocol of its data set; and how much
the second pass changes, as a part of what the first changed. WEIGHTS are a task's own, or a path.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image as PillowImage

from idemnet import Restorer
from idemnet.evaluation.protocols import PROTOCOLS
from idemnet.imaging.image import Image

PASSES = (1, 2, 3, 10)


def find_pairs(task: str, real: Path) -> tuple[str, list[tuple[Path, Path]]]:
    """Return the protocol, and degraded and clean files."""
    if task == "deblur":
        blurred = sorted([*real.glob("gopro_pairs/test/*/blur/*"), *real.glob("gopro_test/blur/*")])
        return "gopro", [(path, path.parents[1] / "sharp" / path.name) for path in blurred]
    if task == "dehaze":
        hazy = sorted(real.glob("sots_indoor/hazy/*.png"))
        clear = [path.parents[1] / "clear" / f"{path.stem.split('_')[0]}.png" for path in hazy]
        return "griddehaze", list(zip(hazy, clear, strict=True))
    rainy = sorted(real.glob("rain100[hl]/input/*.png"))
    return "rain", [(path, path.parents[1] / "target" / path.name) for path in rainy]


class Scores(NamedTuple):
    """Scores of real pictures, passes chained in 8 bits."""

    protocol: str
    psnr: dict[str, list[float]]
    """Of each picture: the input's, and after each of PASSES."""
    second_change: dict[str, float]
    """What the second pass changes on average, as a part of what the first changed."""

    @property
    def mean(self) -> list[float]:
        return [float(one) for one in np.mean(list(self.psnr.values()), axis=0)]


def read(path: Path) -> Image:
    with PillowImage.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def score(restorer: Restorer, real: Path) -> Scores:
    """Score weights on every picture of their task."""
    restorer = replace(restorer, precision="float32")  # the same scores on every CPU
    protocol, pairs = find_pairs(restorer.card["task"], real)
    scores = Scores(protocol, {}, {})
    for degraded, clean in pairs:
        image, reference = read(degraded), read(clean)
        cut = (reference.shape[0] - image.shape[0]) // 2  # RESIDE's clear images are larger
        reference = reference[cut : cut + image.shape[0], cut : cut + image.shape[1]]
        compare = PROTOCOLS[protocol].against(np.ascontiguousarray(reference))
        row, changes = [compare(image / np.float32(255), ())["psnr"]], []
        for number in range(1, max(PASSES) + 1):
            before, image = image, restorer(image)
            if number <= 2:
                changes.append(float(np.abs(image.astype(int) - before).mean()))
            if number in PASSES:
                row.append(compare(image / np.float32(255), ())["psnr"])
        name = f"{degraded.relative_to(real).parts[0]}/{degraded.stem}"
        scores.psnr[name] = row
        scores.second_change[name] = changes[1] / max(changes[0], 1e-9)
    return scores


def main(weights: str, real: Path) -> None:
    scores = score(Restorer.load(weights), real)
    rows, mean = scores.psnr, scores.mean
    print(f"{len(rows)} pictures, protocol {scores.protocol}, passes chained in 8 bits; PSNR in dB")
    print(f"{'picture':44}{'input':>8}" + "".join(f"{f'pass {one}':>9}" for one in PASSES))
    for name, row in {**rows, "mean": mean}.items():
        print(f"{name[-43:]:44}{row[0]:8.2f}" + "".join(f"{one:9.2f}" for one in row[1:]))
    worst = min(row[1] - row[0] for row in rows.values())
    print(f"gain {mean[1] - mean[0]:+.2f} dB, worst {worst:+.2f}", end="")
    print(f"; tenth pass {mean[-1] - mean[1]:+.2f} from the first", end="")
    changes = list(scores.second_change.values())
    print(f"; the second pass changes {np.mean(changes):.1%} of what the first changed")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
