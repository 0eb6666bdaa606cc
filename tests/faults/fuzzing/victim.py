"""Reads changed files of one kind in a process that may be lost: `victim.py KIND FIRST COUNT`.

Files are changed by their number, so each can be looked at alone: `victim.py pictures 1234 1`.
"""

import json
import random
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

from idemnet.system.resources import peak_memory

from .mutate import mutate
from .readers import READERS

LONGEST = 10
"""Seconds of CPU after which the kernel ends a file's reader, where Python no longer can."""


def main(kind: str, first: int, count: int) -> None:
    warnings.simplefilter("ignore")  # of broken metadata, which is left out
    reader = READERS[kind]
    files = reader.files
    everything = [data for one in READERS.values() for data in one.files.values()]
    folder = Path("files")
    folder.mkdir(exist_ok=True)
    findings, slowest = [], (0.0, first)
    for number in range(first, first + count):
        Path("number").write_text(str(number))
        dice = random.Random(f"{kind} {number}")
        name = dice.choice(sorted(files))
        data = mutate(files[name], everything, dice)
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        signal.setitimer(signal.ITIMER_REAL, 10 * LONGEST)  # what waits takes no CPU
        started = time.process_time()
        try:
            reader.read(folder, name, data)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            findings.append(f"{kind} {number} ({name}): {type(error).__name__}: {error} {place}")
        slowest = max(slowest, (time.process_time() - started, number))
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    memory = peak_memory() // 10**6
    found = {"findings": findings, "slowest": slowest, "megabytes": memory}
    Path("found.json").write_text(json.dumps(found))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
