"""Weights on real pictures that nothing was trained on: each image, and the mean.

    python benchmarks/real_pictures.py deblur ../shared/real

Of each picture the PSNR as it came and after passes 1, 2, 3 and 10, each restoring the file that
the one before would have written (8 bits), by the protocol of its data set. WEIGHTS are a task's
own, or a path.
"""

import sys
from pathlib import Path

import numpy as np

from idemnet import Restorer
from idemnet.datasets.images import ImageFile
from idemnet.evaluation.protocols import PROTOCOLS
from idemnet.recipes import Image

PASSES = (1, 2, 3, 10)


def find_pairs(task: str, real: Path) -> tuple[str, list[tuple[Path, Path]]]:
    """Give the protocol, and degraded and clean files."""
    if task == "deblur":
        official = sorted(real.glob("gopro_pairs/test/*/blur/*.png"))
        averaged = sorted(real.glob("gopro_avg8/*_blur.png"))
        pairs = [(path, path.parents[1] / "sharp" / path.name) for path in official]
        pairs += [(path, path.with_name(path.name.replace("_blur", "_sharp"))) for path in averaged]
        return "gopro", pairs
    if task == "dehaze":
        hazy = sorted(real.glob("sots_indoor/hazy/*.png"))
        clear = [path.parents[1] / "clear" / f"{path.stem.split('_')[0]}.png" for path in hazy]
        return "griddehaze", list(zip(hazy, clear, strict=True))
    rainy = sorted(real.glob("rain100[hl]/input/*.png"))
    return "rain", [(path, path.parents[1] / "target" / path.name) for path in rainy]


def read(path: Path) -> Image:
    return ImageFile(path, path.name, path.stat().st_size, None)()


def score(restorer: Restorer, real: Path) -> tuple[str, dict[str, list[float]]]:
    """Give the protocol, and of each picture the PSNR as it came and after each of PASSES."""
    protocol, pairs = find_pairs(restorer.card["task"], real)
    rows = {}
    for degraded, clean in pairs:
        image, reference = read(degraded), read(clean)
        cut = (reference.shape[0] - image.shape[0]) // 2  # RESIDE's clear images are larger
        reference = reference[cut : cut + image.shape[0], cut : cut + image.shape[1]]
        compare = PROTOCOLS[protocol].against(np.ascontiguousarray(reference))
        row = [compare(image / np.float32(255), ())["psnr"]]
        for number in range(1, max(PASSES) + 1):
            image = restorer(image)
            if number in PASSES:
                row.append(compare(image / np.float32(255), ())["psnr"])
        rows[f"{degraded.relative_to(real).parts[0]}/{degraded.stem}"] = row
    return protocol, rows


def main(weights: str, real: Path) -> None:
    protocol, rows = score(Restorer.load(weights), real)
    print(f"{len(rows)} pictures, protocol {protocol}, passes chained in 8 bits; PSNR in dB")
    print(f"{'picture':44}{'came':>8}" + "".join(f"{f'pass {one}':>9}" for one in PASSES))
    mean = [float(one) for one in np.mean(list(rows.values()), axis=0)]
    for name, row in {**rows, "mean": mean}.items():
        print(f"{name[-43:]:44}{row[0]:8.2f}" + "".join(f"{one:9.2f}" for one in row[1:]))
    worst = min(row[1] - row[0] for row in rows.values())
    print(f"gain {mean[1] - mean[0]:+.2f} dB, worst {worst:+.2f}", end="")
    print(f"; tenth pass {mean[-1] - mean[1]:+.2f} from the first")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
