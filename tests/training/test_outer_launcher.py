"""How many processes train: as asked for, as there are GPUs, or as a launcher has started."""

import multiprocessing
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from idemnet.errors import BadInputError
from idemnet.system.launcher import Place, launched_place
from idemnet.training import job as job_module
from idemnet.training.launch import launch
from idemnet.training.rendezvous import open_store, wait_for_training

from ..end_to_end.test_tools import free_port
from .tiny import RandomPatches, digest, make_job, trained


def environment_of(rank: int, port: int = 29400, size: int = 2, **more: str) -> dict[str, str]:
    """What a launcher sets."""
    numbers = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "MASTER_PORT": port}
    return {name: str(one) for name, one in numbers.items()} | {"MASTER_ADDR": "127.0.0.1", **more}


def test_auto_is_every_visible_gpu_and_one_process_without_any(tmp_path, monkeypatch):
    assert make_job(tmp_path, processes="auto").processes == 1
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert make_job(tmp_path, processes="auto", device="cuda").processes == 4
    assert make_job(tmp_path, processes="auto", device="cpu").processes == 1
    assert make_job(tmp_path, processes=2, device="cuda").processes == 2
    with pytest.raises(BadInputError, match=r"batch_size = 6 must be a multiple of .* 1 x 4 x 1"):
        make_job(tmp_path, processes="auto", device="cuda", batch_size=6).check()


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "all", None])
def test_other_counts_are_rejected_with_one_rule(tmp_path, count):
    with pytest.raises(ValidationError, match="must be a positive integer or auto") as error:
        make_job(tmp_path, processes=count)
    assert error.value.error_count() == 1


def test_a_launcher_decides_how_many_processes_there_are(tmp_path):
    assert launched_place() is None
    os.environ |= environment_of(3, size=4, LOCAL_RANK="1", LOCAL_WORLD_SIZE="2")
    assert launched_place() == Place(rank=3, size=4, local_rank=1, local_size=2)
    job = make_job(tmp_path, processes=1)
    assert (job.processes, job.nodes) == (2, 2)
    assert (job.environment["processes"], job.environment["nodes"]) == (2, 2)
    with pytest.raises(BadInputError, match=r"batch_size = 2 must be a multiple of"):
        make_job(tmp_path, batch_size=2).check()


@pytest.mark.parametrize("name", ["LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"])
def test_a_variable_that_a_launcher_would_set_is_missed_by_name(name):
    os.environ |= environment_of(0)
    del os.environ[name]
    with pytest.raises(BadInputError, match=rf"but not {name}; set all of them, or unset RANK"):
        launched_place()


@dataclass(frozen=True)
class NotingThreads(RandomPatches):
    """Patches that note how many threads the process that reads them computes with."""

    folder: Path = Path()

    def read(self, number: int, top: int, left: int, size: int) -> tuple[Any, Any]:
        (self.folder / f"threads of {os.environ['RANK']}").write_text(str(torch.get_num_threads()))
        return super().read(number, top, left, size)


def launch_one(environment: dict[str, str], folder: Path, settings: dict[str, Any]) -> None:
    os.environ |= environment
    rank = int(environment["RANK"])
    job_module.idle_cores = lambda: 2 + 2 * rank  # each counts others
    launch(make_job(folder / str(rank), NotingThreads(folder=folder), **settings))


def launch_two(folder: Path, **settings: Any) -> None:
    """Train in two processes that a launcher has started, each with a disk of its own."""
    context, port = multiprocessing.get_context("forkserver"), free_port()
    both = [
        context.Process(target=launch_one, args=(environment_of(rank, port), folder, settings))
        for rank in range(2)
    ]
    for process in both:
        process.start()
    for process in both:
        process.join(timeout=100)
    codes = [process.exitcode for process in both]
    for process in both:
        process.kill()
    assert codes == [0, 0]


def test_processes_of_a_launcher_train_together_and_rank_0_saves(tmp_path):
    launch_two(tmp_path, epochs=1, threads=0)
    environment = make_job(tmp_path / "0", epochs=1).load_checkpoint()["environment"]
    assert (environment["processes"], environment["threads"]) == (2, 1)
    assert make_job(tmp_path / "1", epochs=1).load_checkpoint() is None
    noted = {path.name: path.read_text() for path in tmp_path.glob("threads of *")}
    assert noted == {"threads of 0": "1", "threads of 1": "1"}  # rank 0's, as it records


@pytest.mark.slow
def test_all_resume_from_rank_0_s_checkpoint_to_the_same_bytes(tmp_path):
    launch_two(tmp_path, time_limit_minutes=1e-9)
    assert make_job(tmp_path / "0").load_checkpoint()["step"] == 1
    launch_two(tmp_path)
    ours = trained(make_job(tmp_path / "ours", processes=2))
    assert digest(make_job(tmp_path / "0").load_checkpoint()) == digest(ours)


def meet_and_say_nothing(environment: dict[str, str], seconds: float) -> None:
    os.environ |= environment
    open_store(1)
    time.sleep(seconds)


def wait(environment: dict[str, str], minutes: float, answers) -> None:
    os.environ |= environment
    try:
        wait_for_training(minutes)
    except BadInputError as error:
        answers.put(str(error))


@pytest.mark.parametrize(
    ("seconds_of_rank_0", "minutes", "said"),
    [
        (0, 0.02, "the processes did not meet at MASTER_ADDR:MASTER_PORT within 0.02 minutes"),
        (60, 0.05, "rank 0 has ended, or has not prepared the data within 0.05 minutes"),
        (1, 60, "rank 0 has ended, or has not prepared the data within 60 minutes"),
    ],
)
def test_others_do_not_wait_forever_for_rank_0(seconds_of_rank_0, minutes, said):
    context = multiprocessing.get_context("forkserver")
    answers = context.Queue()
    environments = [environment_of(rank, port) for port in [free_port()] for rank in range(2)]
    main = context.Process(
        target=meet_and_say_nothing, args=(environments[0], seconds_of_rank_0), daemon=True
    )
    other = context.Process(target=wait, args=(environments[1], minutes, answers), daemon=True)
    for process in [main, other] if seconds_of_rank_0 else [other]:
        process.start()
    try:
        assert said in answers.get(timeout=120)
    finally:
        other.join()
        if main.pid:
            main.kill()
            main.join()
