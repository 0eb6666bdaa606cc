"""Start a training: here, in many processes through torch's elastic launcher, or under another."""

import logging
import os
import signal

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous import RendezvousConnectionError, RendezvousTimeoutError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from idemnet.errors import BadInputError
from idemnet.inference.oom import oom_hint
from idemnet.inference.weights import pack
from idemnet.models import load_weights
from idemnet.steps.services import RunJournal
from idemnet.system.launcher import launched_place
from idemnet.system.processes import start_helpers
from idemnet.training.estimate import describe_cost
from idemnet.training.interruption import SIGNALS, stop
from idemnet.training.job import TrainingJob
from idemnet.training.loop import train
from idemnet.training.process_group import ProcessGroup
from idemnet.training.result import describe
from idemnet.training.state import State
from idemnet.training.validation import selection_score

logger = logging.getLogger(__name__)


def launch(job: TrainingJob) -> None:
    """Train in this process, or launch as many as the parameters ask for and wait for them.

    Under an outer launcher, which has started them, this process is one of them.

    Raises:
        RuntimeError: If one of them died; says which.
    """
    if launched_place():
        _member(job)
        return
    checkpoint = job.load_checkpoint()
    if checkpoint and checkpoint["step"] == job.steps and job.tracker.finished(job.fingerprint):
        changes = job.environment_changes(checkpoint)
        since = f" (since then: {changes})" if changes else ""
        logger.info("training %s: done before%s, nothing to do", job.task, since)
        return
    if job.processes * job.nodes == 1:
        train_as(job, ProcessGroup())
    else:
        _launch_processes(job)


def _launch_processes(job: TrainingJob) -> None:
    """Start this machine's processes of a training; wait for them, and for other machines'."""
    # Idle cores are counted here, before the others start and keep them busy.
    logger.info("training %s: %d threads in each process", job.task, job.threads)
    start_helpers()
    parameters = job.parameters
    if parameters.nodes > 1:
        logger.info(
            "training %s: waiting up to %g minutes for %d nodes at %s",
            job.task, parameters.rendezvous_minutes, parameters.nodes, parameters.rendezvous,
        )  # fmt: skip
    try:
        elastic_launch(_launch_config(job), _member)(job)
    except SignalException as error:  # all were told, and have saved
        stop(error.sigval)
    except (RendezvousTimeoutError, RendezvousConnectionError) as error:
        raise BadInputError(
            f"{parameters.nodes} nodes did not meet at rendezvous = '{parameters.rendezvous}' "
            f"within {parameters.rendezvous_minutes:g} minutes; start the same command on every "
            "node, and check that this address can be reached from each"
        ) from error
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode - 128 in SIGNALS:  # sent to the processes, but not to this one
            stop(failure.exitcode - 128)
        raise RuntimeError(
            f"training process of rank {rank} failed ({failure.message or failure.signal_name()}); "
            "the same command resumes from the last checkpoint"
        ) from error
    if not job.is_finished():
        stop()  # at the time limit


def _launch_config(job: TrainingJob) -> LaunchConfig:
    parameters = job.parameters
    timeout = max(1, round(60 * parameters.rendezvous_minutes))
    return LaunchConfig(
        min_nodes=parameters.nodes,
        max_nodes=parameters.nodes,
        nproc_per_node=job.processes,
        run_id=job.fingerprint[:16],
        rdzv_backend="c10d",
        rdzv_endpoint=parameters.rendezvous,
        max_restarts=0,
        monitor_interval=0.2,
        start_method="spawn",
        rdzv_configs={"join_timeout": timeout, "read_timeout": timeout},
        signals_to_handle=f"{LaunchConfig.signals_to_handle},{signal.SIGUSR1.name}",
    )


def _member(job: TrainingJob) -> None:
    """Join the process group that a launcher, ours or an outer one, put into the environment."""
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    # All go the same way: it is enough if one says how far.
    level = logging.INFO if rank == 0 else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(message)s")
    logging.getLogger("idemnet").setLevel(level)
    if job.device == "cuda":
        # Where a launcher shows each process its own GPU only, that is number 0.
        torch.cuda.set_device(local_rank % torch.cuda.device_count())
    # Numbers of the CPU are exchanged by gloo, which does not wait for the GPU.
    dist.init_process_group("cpu:gloo,cuda:nccl" if job.device == "cuda" else "gloo")
    try:
        train_as(job, ProcessGroup(rank, dist.get_world_size(), local_rank))
    finally:
        dist.destroy_process_group()


def train_as(job: TrainingJob, processes: ProcessGroup) -> None:
    """Train as a member of a process group, from the last checkpoint if there is one."""
    # Rank 0's: others may count other idle cores, or be shown an older checkpoint by a file system.
    shared = processes.broadcast(
        {"threads": job.threads, "checkpoint": job.load_checkpoint()}
        if processes.is_main_process
        else {}
    )
    checkpoint, changes = shared["checkpoint"], ""
    torch.set_num_threads(shared["threads"])
    configure_cuda(job)
    state = create_state(job)
    if checkpoint is not None:
        state.restore(checkpoint)
    if checkpoint is not None and state.step < job.steps:
        changes = job.environment_changes(checkpoint)
    if changes:
        state.resumed_with.append(f"step {state.step}: {changes}")
    if not processes.is_main_process:
        with oom_hint(_less_memory(job)):
            train(job, state, processes, journal=None)
        return
    if state.step:
        logger.info("training %s: resuming at step %d of %d", job.task, state.step, job.steps)
        if changes:
            logger.warning(
                "training %s: resumed with %s; from here on not bit-identical to a training that "
                "was never interrupted",
                job.task, changes,
            )  # fmt: skip
    else:
        logger.info("%s", describe_cost(job, state))
    with job.tracker.run(job.fingerprint) as journal:
        _start_run(job, journal)
        if changes:
            journal.tag({"resumed_with": "; ".join(state.resumed_with)})
        with oom_hint(_less_memory(job)):
            train(job, state, processes, journal)
        best = state.best["scores"]
        # Of first and later passes, however many were trained with, so that runs compare.
        scores = {**best, "selection": selection_score(best, passes=2)}
        scores = {f"validation/{name}": value for name, value in scores.items()}
        final = {**state.to_checkpoint(), "environment": job.environment}
        journal.finish(scores, pack(describe(job, final)))


def _start_run(job: TrainingJob, journal: RunJournal) -> None:
    tags = {
        "task": job.task,
        "device": job.device,
        "threads": str(job.threads),
        "precision": job.precision,
        "data_fingerprint": job.patches.fingerprint,
        "fingerprint": job.fingerprint,
    }
    name = f"{job.task}-{job.fingerprint[:8]}"
    journal.start(name, {"train": job.parameters.model_dump(mode="json")}, tags)


def configure_cuda(job: TrainingJob) -> None:
    """Set what CUDA computes with; TF32 is a mixed precision too, so `off` turns it off."""
    deterministic = job.parameters.deterministic
    reduced = job.parameters.mixed_precision != "off"
    torch.backends.cuda.matmul.allow_tf32 = reduced
    torch.backends.cudnn.allow_tf32 = reduced
    torch.backends.cudnn.benchmark = not deterministic
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(deterministic)


def _less_memory(job: TrainingJob) -> str:
    """Describe what takes less memory; a training that changed it by itself would end otherwise."""
    parameters = job.parameters
    return (
        f"a smaller batch_size than {parameters.batch_size} or crop than {parameters.crop}, larger "
        f"accumulation_steps than {parameters.accumulation_steps}, or checkpoint_iterations takes "
        "less; as it is, training resumes from its last checkpoint where there is more"
    )


def create_state(job: TrainingJob) -> State:
    """Build everything that training changes, before its first step."""
    model = job.build_model()
    if job.parameters.initialize_from is not None:
        load_weights(model, job.initial[0], f"initialize_from = {job.parameters.initialize_from}")
    model.to(job.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    ema_decay = job.parameters.ema_decay
    return State(
        model,
        torch.optim.Adam(model.parameters(), job.parameters.learning_rate, fused=True),
        torch.amp.GradScaler(job.device, enabled=job.dtype == torch.float16),
        AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(ema_decay))  # type: ignore[no-untyped-call]
        if ema_decay
        else None,
    )
