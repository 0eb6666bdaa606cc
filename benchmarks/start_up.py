"""Start-up time of commands, also with nothing to do.

Promises: `idemnet --help` within 0.5 s, `kedro registry list` within 4 s, `kedro run` with nothing
to do within 4 s, `idemnet compare` within 3 s. These are the commands as a person types them, in
seconds of the CPU, which other programs on the machine change little. The first run of each is not
counted: it may still write byte code, and `kedro run` makes what is missing (minutes).
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from promise import Promise, note, report

ROUNDS, ROOT = 7, Path(__file__).parents[1]
PROMISES = {
    "idemnet --help": ("", 0.5),
    "kedro registry list": ("", 4),
    "kedro run --pipeline=train_deblur": (", nothing to do", 4),
    "idemnet compare dataset=builtin": ("", 3),
}
"""Commands, notes, and the promised CPU seconds."""


def cpu_seconds(command: str, *more: str) -> float:
    program, *options = [*command.split(), *more]
    before = _children()
    subprocess.run(
        [Path(sys.executable).with_name(program), *options],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    return _children() - before


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        more = {"idemnet compare dataset=builtin": ("-o", f"{folder}/curves.svg")}
        measured: dict[str, list[float]] = {command: [] for command in PROMISES}
        for number in range(1 + ROUNDS):
            for command, seconds in measured.items():
                seconds.append(cpu_seconds(command, *more.get(command, ())))
            note(("not counted: " if number == 0 else "")
                 + ", ".join(f"{seconds[-1]:.2f} s" for seconds in measured.values()))  # fmt: skip
    report(
        *(
            Promise(f"`{command}`{words}, CPU time", measured[command][1:], at_most=most, unit=" s")
            for command, (words, most) in PROMISES.items()
        )
    )


if __name__ == "__main__":
    main()
