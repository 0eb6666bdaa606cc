"""Run several trainings at once, one core each: small networks gain nothing from two."""

import logging
import multiprocessing
import signal
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from idemnet.system.processes import exit_with_parent
from idemnet.system.resources import cores
from idemnet.training.job import TrainingJob
from idemnet.training.launch import train_as
from idemnet.training.process_group import ProcessGroup

logger = logging.getLogger(__name__)


def train_concurrently(jobs: Sequence[TrainingJob]) -> None:
    """Run single-core trainings concurrently, one per core.

    Later requests for them find them done. A training that fails here is left unfinished, and
    fails again, with its error, when it is requested. On one core nothing is gained: they then run
    when they are requested, in this process, which reads the patches only once.
    """
    waiting = deque(job for job in jobs if _takes_one_core(job) and not job.is_finished())
    if len(waiting) < 2 or cores() < 2:
        return
    logger.info("%d trainings, %d at once", len(waiting), cores())
    context = multiprocessing.get_context("forkserver")
    running: list[BaseProcess] = []
    try:
        while waiting or running:
            while waiting and len(running) < cores():
                running.append(context.Process(target=_train_alone, args=(waiting.popleft(),)))
                running[-1].start()
            wait([process.sentinel for process in running])
            running = [process for process in running if process.is_alive()]
    except BaseException:  # including Ctrl-C: they save a checkpoint
        for process in running:
            process.terminate()
        raise
    finally:
        for process in running:
            process.join()


def _takes_one_core(job: TrainingJob) -> bool:
    return job.device == "cpu" and job.threads == job.processes == job.nodes == 1


def _train_alone(job: TrainingJob) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    exit_with_parent(signal.SIGTERM)  # saves before exiting
    job.check()
    train_as(job, ProcessGroup())
