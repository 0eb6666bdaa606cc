"""What somebody waits for before anything is done.

Promises: `idemnet --help` within 0.5 s, `kedro registry list` within 4 s. Both are the commands as
a person types them; the first run of each, which may still write byte code, is not counted.
"""

import subprocess
import sys
from functools import partial
from pathlib import Path

from promise import Promise, report, take_turns

ROUNDS, ROOT = 7, Path(__file__).parents[1]


def command(*words: str) -> None:
    program = Path(sys.executable).with_name(words[0])
    subprocess.run([program, *words[1:]], cwd=ROOT, check=True, capture_output=True)


def main() -> None:
    works = partial(command, "idemnet", "--help"), partial(command, "kedro", "registry", "list")
    for work in works:
        work()
    rows = take_turns(ROUNDS, *works)
    report(
        Promise("`idemnet --help`", [one for one, _ in rows], at_most=0.5, unit=" s"),
        Promise("`kedro registry list`", [two for _, two in rows], at_most=4, unit=" s"),
    )


if __name__ == "__main__":
    main()
