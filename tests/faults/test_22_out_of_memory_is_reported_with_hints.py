"""When memory runs out, a smaller batch_size or tile is suggested, and never applied unasked."""

from pathlib import Path

import numpy as np
import pytest
import torch

from idemnet.errors import BadInputError
from idemnet.inference.oom import oom_hint
from idemnet.inference.restore import restore
from idemnet.models import build_network
from idemnet.parameters.restore import RestoreParameters
from idemnet.training.launch import launch

from ..training.tiny import RandomPatches, limit_memory, make_job, run_apart, trained

WIDE = {
    "network": {"idempotent": {"width": 32, "iterations": 1}},
    "epochs": 1,
    "single_pass_epochs": 0,
}


def train_and_tell(job, said: Path) -> None:
    try:
        launch(job)
    except BadInputError as error:
        said.write_text(str(error))
        raise


def test_training_proposes_and_its_checkpoint_stays(tmp_path):
    store, said = tmp_path / "store", tmp_path / "said"
    killing = RandomPatches(poison="kill", after=4 * 2)
    run_apart(launch, make_job(store, killing, **WIDE))
    [before] = store.glob("*/*.pt")
    content = before.read_bytes()
    short = make_job(store, RandomPatches(poison="memory"), **WIDE)
    assert run_apart(train_and_tell, short, said) == 1
    assert "a smaller batch_size than 4 or crop than 16" in said.read_text()
    assert said.read_text().startswith("out of memory (")
    assert [(path, path.read_bytes()) for path in store.glob("*/*.pt")] == [(before, content)]
    patches = RandomPatches()
    trained(make_job(store, patches, **WIDE))
    assert len(patches.reads) == 4  # the one step that was left, with the batch as it was


def restore_and_tell(said: Path) -> None:
    model = build_network("idempotent", {"width": 32, "iterations": 1}).eval()
    pixels = np.zeros((1000, 1000, 3), np.uint8)
    limit_memory()
    try:
        restore(model, pixels, RestoreParameters(tile=1024), "cpu")
    except BadInputError as error:
        said.write_text(str(error))
        raise


def test_restoring_proposes_a_smaller_tile(tmp_path):
    assert run_apart(restore_and_tell, tmp_path / "said") == 1
    assert "a smaller tile than 1024 takes less" in (tmp_path / "said").read_text()


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        MemoryError(),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp] . DefaultCPUAllocator: can't allocate memory"
        ),
        RuntimeError("std::bad_alloc"),
    ],
)
def test_every_allocator_is_understood(error):
    with pytest.raises(BadInputError, match=r"out of memory \(.+\): less$"), oom_hint("less"):
        raise error


def test_any_other_error_stays_what_it_is():
    with pytest.raises(RuntimeError, match="mat1 and mat2"), oom_hint("less"):
        raise RuntimeError("mat1 and mat2")
