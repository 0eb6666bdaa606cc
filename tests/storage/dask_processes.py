"""A Dask scheduler and two workers: real processes on loopback, started by Dask's own commands."""

import json
import os
import subprocess
import time
from pathlib import Path

from ..conftest import BIN, REPOSITORY, environment


class DaskProcesses:
    """What `dask scheduler` and `dask worker` start; workers import the tests too."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._file = folder, folder / "scheduler.json"
        file = ("--scheduler-file", str(self._file))
        self.scheduler = self._start(
            "scheduler", "--host=127.0.0.1", "--port=0", "--dashboard-address=127.0.0.1:0", *file
        )
        self.workers = [
            self._start(
                "worker", "--host=127.0.0.1", "--nthreads=1", "--no-nanny", "--no-dashboard",
                f"--local-directory={folder}", *file,
            )
            for _ in range(2)
        ]  # fmt: skip

    def _start(self, *command: str) -> subprocess.Popen:
        paths = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
        with (self._folder / "dask.log").open("ab") as log:
            return subprocess.Popen(
                [BIN / "dask", *command], cwd=self._folder, stdout=log, stderr=log,
                env=environment(PYTHONPATH=paths),
            )  # fmt: skip

    @property
    def address(self) -> str:
        """Wait for the scheduler, and return its address."""
        while not self._file.exists() or not self._file.read_text():
            assert self.scheduler.poll() is None, (self._folder / "dask.log").read_text()
            time.sleep(0.02)
        return json.loads(self._file.read_text())["address"]

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
