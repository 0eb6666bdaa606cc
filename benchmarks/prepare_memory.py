"""Peak memory of prepare on a set 10 times as long: within 10% of the short one.

The peak is the sum of the peaks of all processes that take part, as the kernel counts them
(resident memory); each set is prepared by a process of its own.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prepared import prepare_patches

from idemnet.parameters import (
    CropParameters,
    SceneParameters,
    SynthesisParameters,
)


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
    prepare_patches(place, scene, SynthesisParameters(), CropParameters())


def peak(times: int) -> float:
    """Run `prepare` in a process of its own, and watch it with all that it starts; give MB."""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, __file__, place, str(times)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        # Each step has workers of its own: what counts is the most that was there at one time.
        most = 0.0
        while process.poll() is None:
            most = max(most, sum(peaks_of_session(process.pid)))
            time.sleep(0.05)
        assert process.returncode == 0
    return most


def peaks_of_session(session: int) -> list[float]:
    """Give the peak so far of every process of a session that is alive."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(place.name)) == session:
                status = (place / "status").read_text()
                found += [int(kb) / 1024 for kb in re.findall(r"VmHWM:\s+(\d+)", status)]
        except OSError:
            continue  # it has ended meanwhile
    return found


def main() -> None:
    short, long = peak(1), peak(10)
    print(f"  all processes together: {short:.0f} MB, 10 times the work {long:.0f} MB")
    print(f"peak memory, 10x / 1x:       {long / short:.2f} (at most 1.10)")
    assert long <= 1.1 * short


if __name__ == "__main__":
    if len(sys.argv) == 3:
        prepare(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        main()
