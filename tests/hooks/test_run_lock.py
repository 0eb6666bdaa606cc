"""The second of two nodes in one folder waits for the data of the first, and not for ever."""

import logging
import subprocess
import sys
import time

import click
import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import node, pipeline

from idemnet.datasets.patches import PatchesDataset
from idemnet.datasets.weights import WeightsDataset
from idemnet.hooks.run_lock import LOCKS, RunLockHooks

from ..training.tiny import PARAMETERS

HOLD = """
import fcntl, os, socket, sys, time
files = [open(path, "w") for path in sys.argv[1:]]
for file in files:
    fcntl.flock(file, fcntl.LOCK_EX)
    print(f"process {os.getpid()} on {socket.gethostname()}: kedro run", file=file, flush=True)
print("held", flush=True)
time.sleep(60)
"""


def test_a_node_that_waits_for_data_says_so_and_stops_in_time(tmp_path, caplog):
    settings = {**PARAMETERS, "nodes": 2, "rendezvous": "first:29400", "rendezvous_minutes": 0.05}
    train = pipeline([node(print, ["patches", "params:train"], "weights", tags="train")])
    catalog = DataCatalog(
        {
            "patches": PatchesDataset(str(tmp_path / "patches")),
            "weights": WeightsDataset(str(tmp_path / "weights")),
            "params:train": MemoryDataset(settings),
        }
    )
    hooks = RunLockHooks()
    hooks._project = tmp_path
    (tmp_path / LOCKS).mkdir(parents=True)
    locks = [tmp_path / LOCKS / f"{name}.lock" for name in ("patches", "weights")]
    command = [sys.executable, "-c", HOLD, *map(str, locks)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        try:
            assert owner.stdout.readline() == "held\n"
            begun = time.monotonic()
            with caplog.at_level(logging.INFO), pytest.raises(click.ClickException) as stopped:
                hooks.before_pipeline_run(train, catalog)
            assert 3 <= time.monotonic() - begun < 10
        finally:
            owner.kill()
    said = f"patches is in use by process {owner.pid} on "
    assert caplog.text.count(f"waiting for data: {said}") == 1
    assert stopped.value.exit_code == 1
    assert stopped.value.message.startswith(said)
    assert stopped.value.message.endswith(
        ": kedro run, which has not prepared it within rendezvous_minutes"
    )
