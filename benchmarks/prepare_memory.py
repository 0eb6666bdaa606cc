"""Peak memory of prepare on a set 10 times as long: within 10% of the short one.

The peak is that of the largest single process (the parent, or one of its workers), as the kernel
counts it; each set is prepared by a process of its own.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from idemnet.datasets.pairs import PairsDataset
from idemnet.datasets.patches import PatchesDataset
from idemnet.datasets.raw import RawDataset
from idemnet.datasets.sources import SourcesOnDisk
from idemnet.parameters import (
    CropParameters,
    SceneParameters,
    SourceParameters,
    SynthesisParameters,
)
from idemnet.pipelines.crop import crop
from idemnet.pipelines.download import download
from idemnet.pipelines.synthesize import synthesize_blur


def prepare(place: Path, times: int) -> None:
    """Prepare a set in which both the sequences and their number grow, together by `times`."""
    scene = SceneParameters(
        train=4 * (2 if times > 1 else 1),
        validation=1,
        test=1,
        frames=31 * (times // 2 or 1),
        height=360,
        width=640,
    )
    raw = RawDataset(str(place / "raw"), {"raw": "set"})
    raw.save(download(SourceParameters(builtin=scene), SourcesOnDisk(place)))
    pairs = PairsDataset(str(place / "pairs"), {"pairs": "set"})
    pairs.save(synthesize_blur(raw.load(), SynthesisParameters()))
    patches = PatchesDataset(str(place / "patches"), {"patches": "set"})
    patches.save(crop(pairs.load(), CropParameters()))


def peak(times: int) -> tuple[float, float]:
    """Run `prepare` in a fresh process; give the peak of it and of its largest worker, in MB."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, __file__, place, str(times)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    own, workers = map(float, output.split())
    return own, workers


def main() -> None:
    short, long = peak(1), peak(10)
    for name, a, b in zip(("parent", "largest worker"), short, long, strict=True):
        print(f"  {name}: {a:.0f} MB, 10 times the work {b:.0f} MB")
    ratio = max(long) / max(short)
    print(f"peak memory, 10x / 1x:       {ratio:.2f} (at most 1.10)")
    assert ratio <= 1.1
    assert sum(long) <= 1.1 * sum(short)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        prepare(Path(sys.argv[1]), int(sys.argv[2]))
        who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        print(*(resource.getrusage(one).ru_maxrss / 1024 for one in who))
    else:
        main()
