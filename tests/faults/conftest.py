"""What the tests of faults in training share."""

import multiprocessing
from multiprocessing import forkserver

import pytest

from ..training.tiny import digest, make_job, trained


@pytest.fixture(scope="session", autouse=True)
def ready_to_fork() -> None:
    """Import torch once, for all processes that are started to be killed."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["idemnet.training.launch"])
    forkserver.ensure_running()


@pytest.fixture(scope="session")
def whole(tmp_path_factory) -> str:
    """The hash of an uninterrupted run: weights, optimiser, history, best."""
    return digest(trained(make_job(tmp_path_factory.mktemp("whole"))))
