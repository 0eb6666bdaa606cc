"""Jobs on a Dask cluster give the same bytes, also where a worker or the scheduler is killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from kedro.io import DatasetError

from idemnet.datasets.pairs import PairsDataset
from idemnet.hooks.parameters import describe_faults
from idemnet.parameters.cluster import ClusterParameters
from idemnet.parameters.synthesize import BlurParameters
from idemnet.steps.data import RawData
from idemnet.steps.plan import Recipe
from idemnet.storage.cluster import _divide_gpus, jobs_on
from idemnet.storage.executor import Job, run_jobs
from idemnet.storage.journal import Journal
from idemnet.tasks.deblur import synthesize_blur

from ..faults.test_07_killed_preparation_resumes_to_the_same_bytes import LazyImage, LazySequence
from ..steps.test_publish import tree
from .dask_processes import DaskProcesses

FRAMES = 30


@dataclass(frozen=True)
class Deadly(LazyImage):
    """An image that, decoded for the first time, kills a process."""

    victim: int | None = None
    """None: the one that decodes it."""

    def __call__(self):
        try:
            self.log.with_suffix(".killed").touch(exist_ok=False)
        except FileExistsError:
            return super().__call__()
        os.kill(self.victim or os.getpid(), signal.SIGKILL)
        return super().__call__()


@dataclass(frozen=True)
class Superseding(LazyImage):
    """An image that, decoded for the first time, is as if another worker began the same job."""

    place: Path = Path()

    def __call__(self):
        journals = list(self.place.glob("pairs/.set.*/journals/1.*jsonl"))
        if len(journals) == 1:
            Journal(journals[0]).__exit__()
        return super().__call__()


def blurred(log: Path, special: LazyImage | None = None) -> Recipe:
    """Describe pairs of three sequences; one frame of the second is special."""
    sequences = []
    for number in range(3):
        images = [LazyImage(f"{number}_{frame:02d}", log) for frame in range(FRAMES)]
        if number == 1 and special:
            images[17] = special
        sequences.append(LazySequence(tuple(images), name=f"s{number}"))
    raw = RawData("raw", "frames", sequences, {}, None)
    return synthesize_blur(raw, BlurParameters(levels=(3, 5), stride=5))


@pytest.fixture
def dask(tmp_path) -> Iterator[DaskProcesses]:
    processes = DaskProcesses(tmp_path)
    yield processes
    processes.end()


@pytest.fixture
def expected(tmp_path) -> dict[str, bytes]:
    """What processes of this machine make."""
    PairsDataset(str(tmp_path / "local/set")).save(blurred(tmp_path / "other.log"))
    return tree(tmp_path / "local/set")


def decoded(log: Path) -> list[str]:
    return sorted(name for name in log.read_text().split() if name.startswith("1_"))


def names(*frames: int) -> list[str]:
    return sorted(f"1_{frame:02d}" for frame in frames)


def test_a_killed_worker_costs_what_it_was_at_and_no_more(tmp_path, dask, expected, caplog):
    pairs, log = PairsDataset(str(tmp_path / "pairs/set")), tmp_path / "log"
    with caplog.at_level("INFO"), jobs_on(ClusterParameters(scheduler=dask.address)):
        pairs.save(blurred(log, Deadly("1_17", log)))
    assert tree(tmp_path / "pairs/set") == expected
    assert sorted(worker.poll() or 0 for worker in dask.workers) == [-signal.SIGKILL, 0]
    # What the first worker had finished, of three centres, is not made again.
    assert decoded(log) == names(*range(17), *range(15, FRAMES))
    assert "dashboard (where the scheduler has bokeh): http://127.0.0.1:" in caplog.text


def test_a_killed_scheduler_is_one_error_and_the_next_run_resumes(tmp_path, dask, expected):
    pairs, log = PairsDataset(str(tmp_path / "pairs/set")), tmp_path / "log"
    deadly = Deadly("1_17", log, victim=dask.scheduler.pid)
    with (
        pytest.raises(DatasetError, match=f"{dask.address}: the Dask scheduler is gone; start it"),
        jobs_on(ClusterParameters(scheduler=dask.address)),
    ):
        pairs.save(blurred(log, deadly))
    assert not pairs.exists()
    log.unlink()
    pairs.save(blurred(log))
    assert tree(tmp_path / "pairs/set") == expected
    assert not log.exists() or "1_00" not in log.read_text().split()


@pytest.mark.slow
def test_a_worker_that_is_superseded_tries_again(tmp_path, dask, expected):
    pairs, log = PairsDataset(str(tmp_path / "pairs/set")), tmp_path / "log"
    with jobs_on(ClusterParameters(scheduler=dask.address)):
        pairs.save(blurred(log, Superseding("1_17", log, place=tmp_path)))
    assert tree(tmp_path / "pairs/set") == expected
    assert decoded(log).count("1_00") == 1 and decoded(log).count("1_17") == 2


@pytest.mark.slow
def test_an_image_that_kills_every_worker_is_an_error(tmp_path):
    log = tmp_path / "log"
    deadly = LazyImage("1_17", log, lethal=True)
    with (
        pytest.raises(DatasetError, match="a worker process died"),
        jobs_on(ClusterParameters(local=1)),  # Dask starts another worker for one that died
    ):
        PairsDataset(str(tmp_path / "pairs/set")).save(blurred(log, deadly))


@pytest.mark.parametrize(
    ("count", "visible", "shown"),
    [(2, None, "010"), (2, "4,6", "464"), (1, None, "000"), (0, None, [None] * 3)],
)
def test_workers_of_this_machine_are_given_its_gpus_in_turn(monkeypatch, count, visible, shown):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [one.get("CUDA_VISIBLE_DEVICES") for one in _divide_gpus(3)] == list(shown)


def show_gpu(wanted: Collection[str]) -> Iterator[tuple[str, str]]:
    time.sleep(0.5)  # so that every worker has one
    return ((name, os.environ["CUDA_VISIBLE_DEVICES"]) for name in wanted)


def return_content(_: Path, __: str, content: str) -> str:
    return content


@pytest.mark.slow
def test_jobs_see_the_gpu_of_their_worker_only(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    jobs = [Job((str(number),), show_gpu) for number in range(4)]
    with jobs_on(ClusterParameters(local=2)):
        found = run_jobs(jobs, tmp_path, tmp_path / "journals", return_content, "gpus")
    assert set(found.values()) == {"0", "1"}


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"scheduler": "host:8786"}, "cluster.scheduler = 'host:8786': String should match"),
        ({"local": 0}, "cluster.local = 0: Input should be greater than 0"),
        ({"scheduler": "tcp://a:1", "local": 2}, "cluster: scheduler and local exclude each other"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused_with_key_and_rule(given, fault):
    [said] = describe_faults("cluster", ClusterParameters, given)
    assert said.startswith(f"  {fault}")


@pytest.mark.slow
def test_no_scheduler_is_one_error(tmp_path):
    with (
        pytest.raises(DatasetError, match=r"127.0.0.1:9: no Dask scheduler answers; start one"),
        jobs_on(ClusterParameters(scheduler="tcp://127.0.0.1:9")),
    ):
        PairsDataset(str(tmp_path / "pairs/set")).save(blurred(tmp_path / "log"))


@pytest.mark.slow
def test_a_whole_preparation_on_two_workers_of_this_machine(project, prepared):
    output = project.run(
        "kedro", "run", "--pipeline=prepare_deblur", "--params=cluster.local=2"
    ).stdout
    assert "cluster on this machine: 2 workers" in output
    assert project.bytes_below() == prepared.bytes_below()


@pytest.mark.slow
def test_scores_are_those_of_one_process(copied, tmp_path, dask):
    shutil.rmtree(copied.folder / "data/07_model_output")
    before = {name: path.read_bytes() for name, path in scores(copied).items()}
    copied.run(
        "kedro", "run", "--pipeline=evaluate_deblur", f"--params=cluster.scheduler={dask.address}"
    )
    assert {name: path.read_bytes() for name, path in scores(copied).items()} == before


def scores(project) -> dict[str, Path]:
    reports = project.folder / "data/08_reporting/deblur/builtin"
    return {name: reports / name for name in ("metrics.json", "images.csv", "repeat.csv")}


def test_a_program_that_has_not_imported_torch_can_start_a_cluster(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "from idemnet.parameters.cluster import ClusterParameters\n"
        "from idemnet.storage.cluster import Cluster\n"
        "if __name__ == '__main__':\n"
        "    assert 'torch' not in sys.modules\n"
        "    cluster = Cluster(ClusterParameters(local=1))\n"
        "    with cluster.open(1) as workers:\n"
        "        print(workers.count())\n"
        "    cluster.close()\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr
