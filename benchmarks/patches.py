"""Random 256x256 crops: from the patch store against decoding PNG patches of the same size.

Promise: at least 10x as many per second. Both are measured in turn, several times, in one run.
"""

import random
import tempfile
import time
from pathlib import Path

from prepared import prepare_patches
from promise import Promise, note, report

from idemnet.media.image_files import decode_image, write_image
from idemnet.parameters.crop import CropParameters
from idemnet.parameters.source import SceneParameters
from idemnet.parameters.synthesize import BlurParameters
from idemnet.steps.data import PatchReader

ROUNDS, PAIRS = 5, 200


def prepare(place: Path) -> PatchReader:
    scene = SceneParameters(train=2, validation=1, test=1, frames=48, height=720, width=1280)
    patches = prepare_patches(place, scene, BlurParameters(), CropParameters(size=512, stride=256))
    return patches.splits["train"]


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        train = prepare(Path(place))
        for number in range(PAIRS):  # the same pictures as 256x256 PNG files, two for each pair
            for kind, image in zip("ab", train.read(number, 0, 0, 256), strict=True):
                write_image(Path(place, "png"), f"{number}{kind}.png", image)
        ratios = []
        for seed in range(ROUNDS):
            draw = random.Random(seed)
            begun = time.perf_counter()
            for _ in range(PAIRS):
                number = draw.randrange(len(train.rows))
                train.read(number, draw.randrange(257), draw.randrange(257), 256)
            store = time.perf_counter() - begun
            begun = time.perf_counter()
            for _ in range(PAIRS):
                number = draw.randrange(PAIRS)
                for kind in "ab":
                    path = Path(place, "png", f"{number}{kind}.png")
                    decode_image(path.read_bytes(), path.name)
            png = time.perf_counter() - begun
            ratios.append(png / store)
            per_second = 2 * PAIRS / store, 2 * PAIRS / png
            note("{:,.0f} crops/s from the store, {:,.0f} from PNG".format(*per_second))
    what = "random 256x256 crops, against decoding PNG patches: how many"
    report(Promise(what, ratios, at_least=10))


if __name__ == "__main__":
    main()
