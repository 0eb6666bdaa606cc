"""Start a training: in this process, or in many through torch's own elastic launcher."""

import logging
import os

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from idemnet.models import load_weights
from idemnet.models.packing import pack
from idemnet.models.shortage import advising
from idemnet.training.estimate import describe_cost
from idemnet.training.job import TrainingJob
from idemnet.training.loop import half_precision, train_to_the_end
from idemnet.training.result import describe
from idemnet.training.state import State
from idemnet.training.team import Team

logger = logging.getLogger(__name__)


def run_team(job: TrainingJob) -> None:
    """Train in this process, or start as many as the parameters say and wait for them.

    Raises:
        RuntimeError: If one of them died; says which.
    """
    parameters = job.parameters
    if parameters.processes * parameters.nodes == 1:
        train_as(job, Team())
        return
    config = LaunchConfig(
        min_nodes=parameters.nodes,
        max_nodes=parameters.nodes,
        nproc_per_node=parameters.processes,
        run_id=job.fingerprint[:16],
        rdzv_backend="c10d",
        rdzv_endpoint=parameters.rendezvous,
        max_restarts=0,
        monitor_interval=0.2,
        start_method="spawn",
    )
    try:
        elastic_launch(config, _member)(job)
    except SignalException as error:  # all were told, and have saved
        raise SystemExit(128 + error.sigval) from None
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        raise RuntimeError(
            f"training process of rank {rank} failed ({failure.message or failure.signal_name()}); "
            "the same command goes on from the last checkpoint"
        ) from error


def _member(job: TrainingJob) -> None:
    """Join the team that the launcher has announced in the environment."""
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    # All go the same way: it is enough if one says how far.
    level = logging.INFO if rank == 0 else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(message)s")
    logging.getLogger("idemnet").setLevel(level)
    if job.device == "cuda":
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if job.device == "cuda" else "gloo")
    try:
        train_as(job, Team(rank, dist.get_world_size(), local_rank))
    finally:
        dist.destroy_process_group()


def train_as(job: TrainingJob, team: Team) -> None:
    """Train as a member of a team, from the last checkpoint if there is one."""
    torch.set_num_threads(job.threads)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    state = create_state(job)
    checkpoint = job.load_checkpoint()
    if checkpoint is not None:
        state.restore(checkpoint)
    if state.step == job.steps and job.tracker.finished(job.fingerprint):
        logger.info("training %s: done before, nothing to do", job.task)
        return
    if not team.leads:
        with advising(_less_memory(job)):
            train_to_the_end(job, state, team, journal=None)
        return
    if state.step:
        logger.info("training %s: going on at step %d of %d", job.task, state.step, job.steps)
    else:
        logger.info("%s", describe_cost(job, state))
    with job.tracker.run(job.fingerprint) as journal:
        journal.start(
            f"{job.task}-{job.fingerprint[:8]}",
            {"train": job.parameters.model_dump(mode="json")},
            {
                "task": job.task,
                "device": job.device,
                "threads": str(job.threads),
                "data_fingerprint": job.patches.fingerprint,
                "fingerprint": job.fingerprint,
            },
        )
        with advising(_less_memory(job)):
            train_to_the_end(job, state, team, journal)
        scores = {f"validation.{name}": value for name, value in state.best["scores"].items()}
        journal.finish(scores, pack(describe(job, state.to_checkpoint())))


def _less_memory(job: TrainingJob) -> str:
    """Say what takes less memory; a training that changed it by itself would end otherwise."""
    parameters = job.parameters
    return (
        f"a smaller batch_size than {parameters.batch_size} or crop than {parameters.crop}, a "
        f"larger accumulate than {parameters.accumulate}, or checkpoint_iterations takes less; "
        "as it is, training goes on from its last checkpoint where there is more"
    )


def create_state(job: TrainingJob) -> State:
    """Build everything that training changes, before its first step."""
    model = job.build_model()
    if job.parameters.initialize_from is not None:
        load_weights(model, job.initial[0], f"initialize_from = {job.parameters.initialize_from}")
    model.to(job.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    average = job.parameters.average
    half = job.device == "cuda" and job.parameters.mixed_precision
    return State(
        model,
        torch.optim.Adam(model.parameters(), job.parameters.learning_rate, fused=True),
        torch.amp.GradScaler(job.device, enabled=half and half_precision() == torch.float16),
        AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(average))  # type: ignore[no-untyped-call]
        if average
        else None,
    )
