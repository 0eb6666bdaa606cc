"""The same seed gives the same bytes with any number of workers, any load, resumed or not."""

import itertools
import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from idemnet.training.launch import launch
from idemnet.training.loader import open_loader

from ..training.tiny import SIZE, RandomPatches, digest, make_job, run_apart, trained

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")
"""On a machine with fewer cores than workers, which is what is tried here."""
FLEETS = [0, 1, 2, pytest.param(4, marks=pytest.mark.slow)]


@pytest.mark.parametrize("workers", FLEETS)
def test_any_number_of_workers_gives_the_same_bytes(tmp_path, whole, workers):
    assert digest(trained(make_job(tmp_path, workers=workers))) == whole


@pytest.mark.parametrize(
    ("before", "after"), [(0, 2), *(pytest.param(*p, marks=pytest.mark.slow) for p in [(0, 4)])]
)
def test_a_training_may_be_resumed_with_another_number(tmp_path, whole, before, after):
    killing = RandomPatches(poison="kill", after=4 * 5)
    job = make_job(tmp_path, killing, workers=before)
    assert run_apart(launch, job) == -signal.SIGKILL
    assert digest(trained(make_job(tmp_path, workers=after))) == whole


def test_another_seed_gives_other_bytes(tmp_path, whole):
    assert digest(trained(make_job(tmp_path, seed=1))) != whole


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_a_busy_machine_gives_the_same_bytes(tmp_path, whole, workers):
    spin = ["nice", sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(spin) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        assert digest(trained(make_job(tmp_path, workers=workers))) == whole
    finally:
        for process in busy:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class SamePatches(RandomPatches):
    """One patch, many times: what samples differ in is what was done to them."""

    def read(self, number, top, left, size):
        return super().read(0, top, left, size)


@pytest.mark.parametrize("workers", [0, 2])
def test_no_two_samples_are_changed_alike(tmp_path, workers):
    """Workers that start with the same random state would repeat each other (pytorch #5059)."""
    job = make_job(tmp_path, SamePatches(), workers=workers, batch_size=2, crop=SIZE)
    samples = torch.cat([batch[0] for batch in itertools.islice(open_loader(job, 0), 12)])
    assert len(samples) == 24
    assert len(np.unique(samples.reshape(24, -1).numpy(), axis=0)) == 24
