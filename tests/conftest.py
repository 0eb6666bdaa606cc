"""Shared fixtures: real pictures if available, and small projects to run commands in."""

import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import hypothesis
import numpy as np
import pytest
import yaml
from filelock import FileLock
from omegaconf import OmegaConf

from .fetch.http_server import Server

REPOSITORY = Path(__file__).parents[1]
REAL = REPOSITORY.parent / "shared" / "real"
BIN = Path(sys.executable).parent

MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4e9:
    # All writes are fsynced, and creating MLflow's database takes a thousand of them: a RAM disk
    # saves a third of the time.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

os.environ.setdefault("GOMP_SPINCOUNT", "10000")  # as the program sets it (settings.py)

hypothesis.settings.register_profile("patient", deadline=None)  # machines may be busy
hypothesis.settings.load_profile("patient")

LONGEST_FIRST = ("test_kill_sweep.py", "end_to_end", "faults", "training", "tracking", "fetch")
"""Files and folders of tests, longest first, so that no worker is left with a long one at the end:
the sweep takes a third of `make faults`."""

SMALL = {
    "deblur": {
        "source": {
            "builtin": {
                "train": 2, "validation": 1, "test": 1, "frames": 19, "height": 48, "width": 64,
            }
        },
        "synthesize": {"levels": [3, 5], "stride": 6},
        "crop": {"size": 32, "stride": 16, "min_contrast": 0},
        "train": {
            "model": "idempotent", "initialize_from": "none", "passes": 2, "alphas": [1.0, 1.0],
            "network": {"idempotent": {"width": 4, "iterations": 1}},
            "idempotence_weight": 0.1, "epochs": 3, "single_pass_epochs": 1, "batch_size": 2,
            "crop": 16, "warmup_steps": 0, "learning_rate": 2e-3,
            "validation_epochs": 1, "validation_patches": 4, "threads": 1, "workers": 0,
        },
        "evaluate": {"protocol": "gopro", "passes": 3, "noise": [0, 10], "samples": 2},
    }
}  # fmt: skip

SCENES = {"train": 3, "validation": 1, "test": 1, "frames": 1, "height": 48, "width": 64}
for task, protocol in (("dehaze", "rgb"), ("derain", "rain")):
    SMALL[task] = {
        **SMALL["deblur"],
        "source": {"builtin": SCENES},
        "synthesize": {"levels": 2},
        "evaluate": {**SMALL["deblur"]["evaluate"], "protocol": protocol},
    }


@pytest.fixture(scope="session")
def real() -> Path:
    """Real pictures, which are not part of the project."""
    if not REAL.is_dir():
        pytest.skip("the folder of real pictures (../shared/real) is not here")
    return REAL


LIST_IMPORTS = """
import atexit, runpy, sys
atexit.register(lambda: print("imported:", *sys.modules))
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Project:
    """A copy of the project with small scenes, in which commands run as users run them."""

    def __init__(self, folder: Path, output: str = "") -> None:
        """Make a copy, or take the one that is there, which the command that printed this made."""
        self.folder, self.output = folder, output
        if folder.exists():
            return
        folder.mkdir(parents=True)
        for name in (
            "src",
            "conf",
            ".telemetry",
            "pyproject.toml",
            "dvc.yaml",
            ".dvcignore",
        ):
            source = REPOSITORY / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / name)
        shutil.copy(mlflow_tables(), folder / "mlflow.db")
        self.set_parameters(SMALL)

    def set_parameters(self, parameters: dict, env: str = "local") -> None:
        path = self.folder / "conf" / env / "parameters_test.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(parameters), encoding="utf-8")

    def set_base(self, parameters: dict) -> None:
        """Merge parameters into conf/base, which DVC watches."""
        (self.folder / "conf/local/parameters_test.yml").unlink(missing_ok=True)
        for path in (self.folder / "conf/base").glob("parameters*.yml"):
            settings = yaml.safe_load(path.read_text(encoding="utf-8"))
            for group in settings.keys() & parameters.keys():
                kept = settings[group]
                known = {name: one for name, one in parameters[group].items() if name in kept}
                settings[group] = OmegaConf.to_container(OmegaConf.merge(kept, known))
            path.write_text(yaml.safe_dump(settings), encoding="utf-8")

    def run(self, *command: str, check: bool = True, **options) -> subprocess.CompletedProcess:
        result = subprocess.run(
            command, cwd=self.folder, env=environment(), text=True, capture_output=True,
            check=False, **{"timeout": 300, **options},
        )  # fmt: skip
        assert not check or result.returncode == 0, result.stdout + result.stderr
        return result

    def run_and_list_imports(self, program: str, *options: str) -> tuple[str, set[str]]:
        """Return what a command printed, and every module that it had imported at its end."""
        command = (sys.executable, "-c", LIST_IMPORTS, str(BIN / program), *options)
        output, _, modules = self.run(*command).stdout.rpartition("imported: ")
        return output, set(modules.split())

    def start(self, *command: str) -> subprocess.Popen:
        return subprocess.Popen(
            command, cwd=self.folder, env=environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def bytes_below(self, folder: str = "data") -> dict[str, bytes]:
        """Return all published files by name; hidden files are partial results and locks."""
        root = self.folder / folder
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file()
            and not any(part.startswith(".") for part in path.relative_to(root).parts)
        }


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a command; one thread is enough for small pictures."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    ours = {"PATH": path, "COLUMNS": "400", "NO_COLOR": "1", "OMP_NUM_THREADS": "1", **more}
    # Commands start faster with cached bytecode.
    return {**os.environ, **ours, "PYTHONDONTWRITEBYTECODE": ""}


def mlflow_tables() -> Path:
    """Return an empty MLflow database, created once, because that takes seconds."""
    from idemnet.tracking.store import _make_database

    path = Path(os.environ["TABLES"]) / "mlflow.db"
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            _make_database(path)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture(scope="session")
def make_once(shared_by_workers: Path) -> Callable[..., Project]:
    """Run a command in a project that all workers share; the first worker runs it."""
    base = shared_by_workers

    def make(name: str, *command: str) -> Project:
        project, done = base / name / "project", base / name / "output"
        with FileLock(base / f"{name}.lock"):
            if not done.exists():
                output = Project(project).run(*command).stdout
                done.write_text(output, encoding="utf-8")
        return Project(project, output=done.read_text(encoding="utf-8"))

    return make


@pytest.fixture(scope="session")
def prepared(make_once: Callable[..., Project]) -> Project:
    """A project on which prepare_deblur has run; tests must not change it."""
    return make_once("prepared", "kedro", "run", "--pipeline=prepare_deblur")


@pytest.fixture(scope="session")
def trained(make_once: Callable[..., Project]) -> Project:
    """A project on which train_deblur has run; tests must not change it."""
    return make_once("trained", "kedro", "run", "--pipeline=train_deblur")


@pytest.fixture
def copied(trained: Project, tmp_path: Path) -> Project:
    """A trained project to change things in."""
    shutil.copytree(trained.folder, tmp_path / "copied", ignore=shutil.ignore_patterns("notebooks"))
    return Project(tmp_path / "copied")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A local server that can be told to misbehave."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as server:
        yield server


@pytest.fixture
def hub(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    """A local server in place of the Hugging Face Hub, also for child processes."""
    from huggingface_hub import constants

    endpoint = server.on("")
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", template.replace(constants.ENDPOINT, endpoint)
    )
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)  # read on import
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub_cache"))
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub_cache"))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    return server


@pytest.fixture
def hold() -> Iterator[threading.Event]:
    """An event that a stalling server waits for."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture(scope="session")
def shared_by_workers(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers share."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(scope="session", autouse=True)
def place_of_tables(shared_by_workers: Path) -> None:
    os.environ["TABLES"] = str(shared_by_workers)


@pytest.fixture
def patience() -> None:
    """Configure MLflow as the program does, whatever this machine's environment says."""
    from idemnet.tracking import store as mlflow_store

    for name in ("TRACKING_URI", "HTTP_REQUEST_TIMEOUT", "HTTP_REQUEST_MAX_RETRIES"):
        os.environ.pop(f"MLFLOW_{name}", None)
    mlflow_store.configure()
    import mlflow  # noqa: F401  # takes seconds, which no wait in a test shall be for


@pytest.fixture
def tables() -> Path:
    return mlflow_tables()


@pytest.fixture
def database(tables: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(tables, tmp_path / "mlflow.db"))


@pytest.fixture
def uri(database: Path) -> str:
    return f"sqlite:///{database}"


@pytest.fixture(autouse=True)
def same_in_any_order(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start every test with the same random numbers, one thread, and an unchanged environment.

    With one thread, small tensors are faster, and sums are always in the same order. Importing
    parts of Kedro configures logging, which would add records to `caplog`.
    """
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    logging.getLogger("idemnet").setLevel(logging.NOTSET)
    if hasattr(request.module, "RNG"):
        request.module.RNG = np.random.default_rng(0)
    with patch.dict(os.environ):
        yield


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[[str], Project]:
    return lambda name: Project(tmp_path / name)


def pytest_collection_modifyitems(items) -> None:
    items.sort(key=lambda item: [name not in item.path.parts[-2:] for name in LONGEST_FIRST])


def pytest_terminal_summary(terminalreporter) -> None:
    """List skipped tests with their reasons at the end."""
    skipped = terminalreporter.stats.get("skipped", [])
    terminalreporter.section("skipped")
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"{report.nodeid}: {reason}")
    if not skipped:
        terminalreporter.write_line("nothing was skipped")
    seed = terminalreporter.config.getoption("randomly_seed", "none")
    terminalreporter.write_line(f"order of tests: --randomly-seed={seed}")
