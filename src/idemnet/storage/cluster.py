"""Jobs on a Dask cluster, whose machines share the project's folder."""

import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idemnet.errors import BadInputError
from idemnet.parameters.cluster import ClusterParameters
from idemnet.storage.executor import (
    DIED,
    Job,
    Workers,
    Write,
    no_main_module,
    run_job,
    workers_from,
)
from idemnet.storage.journal import SupersededError
from idemnet.system.resources import limit_cores

if TYPE_CHECKING:
    from distributed import Client, SpecCluster

logger = logging.getLogger(__name__)

PART = 8
"""Images of an evaluation for one worker: each part loads the network again."""
PACKAGES = ("idemnet", "numpy", "opencv-python-headless", "pillow", "isal", "torch")
"""Of which other releases may give other bytes."""


class Cluster:
    """A cluster that is connected to when the first job needs it."""

    def __init__(self, parameters: ClusterParameters) -> None:
        self._parameters = parameters
        self._client: Client | None = None
        self._had_workers = True

    @contextmanager
    def open(self, _: int) -> Iterator[Workers]:
        """Return the cluster's workers.

        Raises:
            BadInputError: If Dask is not installed, or the scheduler cannot be reached any more.
        """
        client = self._client = self._client or _connect(self._parameters)
        from distributed import KilledWorker  # noqa: PLC0415  # an extra, and takes a second

        run = partial(_run_on_worker, {name: version(name) for name in PACKAGES})
        try:
            # Not pure: of equal calls, Dask would answer the second with the first one's result.
            yield Workers(client.get_executor(pure=False), self._count, run, PART)
        except CancelledError as error:
            self.close()
            raise BadInputError(
                f"{_name(self._parameters)}: the Dask scheduler is gone; start it again and run "
                "the same command to resume"
            ) from error
        except KilledWorker as error:
            raise RuntimeError(f"{DIED}; Dask says: {error}") from error

    def close(self) -> None:
        """Disconnect; a cluster of this machine ends."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
            if client.cluster is not None:
                client.cluster.close()

    def _count(self) -> int:
        assert self._client
        try:
            threads: int = sum(self._client.nthreads().values())
        except OSError as error:
            raise CancelledError from error
        if not threads and self._had_workers:
            logger.warning("%s: no workers, waiting for some", _name(self._parameters))
        self._had_workers = threads > 0
        return max(1, threads)


def _connect(parameters: ClusterParameters) -> "Client":
    try:
        import dask  # noqa: PLC0415
        from distributed import Client  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise BadInputError(
            "cluster: Dask is not installed; install it with: pip install 'idemnet[cluster]'"
        ) from error
    # A part of an evaluation brings the network along, which Dask would warn of.
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
    if parameters.local:
        environments = _divide_gpus(parameters.local)  # imports torch, which needs the main module
        with no_main_module():
            client = Client(_start_local(environments))
    else:
        try:
            client = Client(parameters.scheduler, timeout=10)
        except OSError as error:
            raise BadInputError(
                f"{_name(parameters)}: no Dask scheduler answers; start one with `dask scheduler`, "
                "or run without `cluster`"
            ) from error
    logger.info(
        "%s: %d workers; dashboard (where the scheduler has bokeh): %s",
        _name(parameters), len(client.nthreads()), client.dashboard_link,
    )  # fmt: skip
    return client


def _start_local(environments: Sequence[Mapping[str, str]]) -> "SpecCluster":
    """Start a scheduler on this machine, and a worker in each environment."""
    from distributed import Nanny, Scheduler, SpecCluster  # noqa: PLC0415

    host = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    options = {"host": "127.0.0.1", "nthreads": 1, "memory_limit": 0}
    return SpecCluster(
        scheduler={"cls": Scheduler, "options": {"port": 0, "dashboard": True, **host}},
        workers={
            number: {"cls": Nanny, "options": {**options, "env": environment}}
            for number, environment in enumerate(environments)
        },
    )


def _divide_gpus(workers: int) -> list[dict[str, str]]:
    """Return the environment of each worker, which shows it one GPU in turn, if there are any."""
    import torch  # noqa: PLC0415  # takes seconds

    gpus = [str(number) for number in range(torch.cuda.device_count())]
    if gpus and "CUDA_VISIBLE_DEVICES" in os.environ:
        gpus = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    turns = islice(cycle(gpus), workers)
    return [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in turns] or [{} for _ in range(workers)]


def _name(parameters: ClusterParameters) -> str:
    return f"cluster {parameters.scheduler or 'on this machine'}"


def _run_on_worker(
    versions: Mapping[str, str], job: Job, folder: Path, first: Path, write: Write
) -> dict[str, Any]:
    from distributed import Reschedule  # noqa: PLC0415

    for name, wanted in versions.items():
        if version(name) != wanted:
            raise BadInputError(
                f"worker on {socket.gethostname()}: has {name} {version(name)}, but the run has "
                f"{wanted}; install the same version, or results may differ"
            )
    limit_cores(1)  # each of the worker's threads has a job
    try:
        return run_job(job, folder, first, write)
    except SupersededError:
        # By a worker that the scheduler takes for dead, or this is the one: then nobody listens.
        raise Reschedule from None


@contextmanager
def jobs_on(parameters: ClusterParameters) -> Iterator[None]:
    """Run jobs on a cluster meanwhile."""
    cluster = Cluster(parameters)
    with workers_from(cluster.open):
        try:
            yield
        finally:
            cluster.close()
