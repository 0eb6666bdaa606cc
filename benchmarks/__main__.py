"""Measure every promise on speed and memory: `make bench`.

Continues after a missed promise and exits with an error at the end; writes the table in
docs/performance.md. `python benchmarks NAME...` measures some of them and updates their rows.
"""

import datetime
import os
import platform
import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

from promise import HEADER

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "performance.md"
SCRIPTS = (
    "network",
    "shipped",
    "figure_1",
    "tiling",
    "folder",
    "training_step",
    "activation_checkpointing",
    "patches",
    "synthesis",
    "prepare_memory",
    "evaluation",
    "scaling",
    "cluster",
    "two_trainings",
    "threads",
    "start_up",
    "cost_model",
)
"""Scripts in the order of the table, without those that take too long for `make bench`."""
MISSING = "Not measured yet: "
AGAIN = " Measured again on "
PACKAGES = ("torch", "numpy", "opencv-python-headless", "pillow", "isal", "kedro", "scikit-image")


def run(name: str) -> tuple[list[str], bool]:
    """Return a script's rows, and whether it kept all its promises."""
    begun = time.monotonic()
    print(f"{name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, str(HERE / f"{name}.py")]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    rows = [line for line in result.stdout.splitlines() if line.startswith("| ")]
    if result.returncode and not any("**no**" in row for row in rows):
        rows.append("| ended with an error | | | | **no** |")
    rows = [f"{row} {name} |" for row in rows]
    print("\n".join(rows), f"  {time.monotonic() - begun:.0f} s", sep="\n", flush=True)
    return rows, result.returncode == 0


def describe_machine() -> str:
    """Describe the machine and the date."""
    model = platform.machine()
    if Path("/proc/cpuinfo").exists():
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        model = found[1] if found else model
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    load = os.getloadavg()[2]
    return (
        f"{datetime.date.today().isoformat()}; {len(os.sched_getaffinity(0))} cores of {model}, "
        f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9:.0f} GB, "
        f"{platform.system()} {platform.release().split('-')[0]}, no GPU used; mean load of the "
        f"last 15 minutes {load:.1f}; Python {platform.python_version()}, {packages}."
    )


def keep(rows: list[str], seconds: float, renewed: tuple[str, ...]) -> None:
    """Write the table into the page, between its two marks; or update rows of some scripts."""
    page = PAGE.read_text()
    begin, end = "<!-- measured -->\n", "\n<!-- /measured -->"
    before, _, rest = page.partition(begin)
    old, _, after = rest.partition(end)
    said = f"{describe_machine()} All in {seconds / 60:.1f} minutes."
    if renewed:
        first, _, earlier = old.partition(HEADER[0])[0].strip().partition(AGAIN)
        named = {*earlier.partition(": ")[2].rstrip(".").split(", "), *renewed}
        names = ", ".join(name for name in SCRIPTS if name in named)
        said = f"{first}{AGAIN}{datetime.date.today().isoformat()}: {names}."
        others = [row for row in old.splitlines() if _script(row) in set(SCRIPTS) - set(renewed)]
        rows = sorted(rows + others, key=lambda row: SCRIPTS.index(_script(row)))
    table = "\n".join((*HEADER, *rows))
    if missing := [name for name in SCRIPTS if name not in map(_script, rows)]:
        table += f"\n\n{MISSING}{', '.join(missing)}."
    PAGE.write_text(f"{before}{begin}{said}\n\n{table}{end}{after}")


def _script(row: str) -> str:
    return row.rstrip(" |").rpartition("| ")[2]


def main() -> None:
    begun = time.monotonic()
    chosen = sys.argv[1:] or SCRIPTS
    results = [run(name) for name in chosen]
    rows = [row for some, _ in results for row in some]
    print("", *HEADER, *rows, sep="\n")
    keep(rows, time.monotonic() - begun, tuple(sys.argv[1:]))
    sys.exit(0 if all(kept for _, kept in results) else 1)


if __name__ == "__main__":
    main()
