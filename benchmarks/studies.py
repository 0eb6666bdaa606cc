"""How long a study of one seed takes from nothing: data, trainings, evaluations and page.

Promises, on two cores with nothing else running: constraint and repeat within 20 minutes each,
ablation within 60. Each is run as a person would, by its command, in a copy of the project that
holds no data yet.

Takes up to an hour, so `make bench` leaves it out; run it by itself.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
MINUTES = {"constraint": 20, "repeat": 20, "ablation": 60}


def minutes_of(study: str) -> float:
    """Run a study in a copy of the project without data, and give the minutes it took."""
    with tempfile.TemporaryDirectory() as place:
        project = Path(place) / "project"
        for name in ("conf", "src", "pyproject.toml"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            project.mkdir(exist_ok=True)
            copy(ROOT / name, project / name)
        begin = time.monotonic()
        kedro = Path(sys.executable).with_name("kedro")
        environment = {**os.environ, "PYTHONPATH": str(project / "src")}
        command = [str(kedro), "run", f"--pipeline=study_{study}"]
        subprocess.run(command, cwd=project, env=environment, check=True, stdout=sys.stderr)
        return (time.monotonic() - begin) / 60


def main() -> None:
    print(f"{os.cpu_count()} cores")
    print("| study of one seed | minutes | at most |")
    print("|---|---|---|")
    kept = True
    for study in sys.argv[1:] or MINUTES:
        taken = minutes_of(study)
        kept = kept and taken <= MINUTES[study]
        print(f"| {study} | {taken:.1f} | {MINUTES[study]} |", flush=True)
    if not kept:
        sys.exit("a study took longer than promised")


if __name__ == "__main__":
    main()
