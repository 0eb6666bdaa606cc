"""`python -m idemnet` runs a pipeline of the packaged project, outside the repository."""

import sys
from pathlib import Path

from kedro.framework.cli.utils import find_run_command
from kedro.framework.project import configure_project


def main() -> None:
    package = Path(__file__).parent.name
    configure_project(package)
    find_run_command(package)(standalone_mode=True)


if __name__ == "__main__":
    sys.exit(main())  # type: ignore[func-returns-value]
