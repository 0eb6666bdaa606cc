"""Peak memory of prepare on a set 10 times as long: within 10% of the short one."""

import sys
import tempfile
from pathlib import Path

from memory import peak
from prepared import prepare_patches
from promise import Promise, note, report

from idemnet.parameters.crop import CropParameters
from idemnet.parameters.source import SceneParameters
from idemnet.parameters.synthesize import BlurParameters


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
    prepare_patches(place, scene, BlurParameters(), CropParameters())


def main() -> None:
    peaks = []
    for times in ("1", "10"):
        with tempfile.TemporaryDirectory() as place:
            peaks.append(peak(__file__, place, times))
    short, long = peaks
    note(f"all processes together: {short:.0f} MB, 10 times the work {long:.0f} MB")
    what = "peak memory of prepare, all processes together, with 10 times the data"
    report(Promise(what, [long / short], at_most=1.1))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        prepare(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        main()
