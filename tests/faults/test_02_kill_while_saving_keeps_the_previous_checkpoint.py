"""A training killed while saving resumes from the previous checkpoint, which is untouched."""

import hashlib
import os
import signal
from pathlib import Path

from idemnet.training.launch import launch

from ..training.tiny import RandomPatches, digest, make_job, run_apart, trained


def saved(folder: Path) -> dict[str, str]:
    """The sha256 of every checkpoint."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*/*.pt")
    }


def strays(folder: Path) -> list[Path]:
    return list(folder.glob("*/.*.tmp"))


class Lethal:
    """What cannot be pickled: who tries dies."""

    def __reduce__(self):
        os.kill(os.getpid(), signal.SIGKILL)


def save_what_kills(folder: Path) -> None:
    make_job(folder).save_checkpoint(6, {"step": 6, "model": {"weight": Lethal()}})


def leave_a_checkpoint(folder: Path) -> dict[str, str]:
    run_apart(launch, make_job(folder, RandomPatches(poison="kill", after=4 * 4)))
    assert [name[:9] for name in sorted(saved(folder))] == ["000000002", "000000004"]
    return saved(folder)


def test_killed_while_it_is_pickled(tmp_path, whole):
    before = leave_a_checkpoint(tmp_path)
    assert run_apart(save_what_kills, tmp_path) == -signal.SIGKILL
    assert saved(tmp_path) == before
    assert make_job(tmp_path).load_checkpoint()["step"] == 4
    assert digest(trained(make_job(tmp_path))) == whole


def test_killed_while_it_is_written(tmp_path, whole):
    before = leave_a_checkpoint(tmp_path)
    dying = make_job(tmp_path, RandomPatches(poison="kill while writing"))
    assert run_apart(launch, dying) == -signal.SIGXFSZ
    assert saved(tmp_path) == before
    assert [path.stat().st_size for path in strays(tmp_path)] == [1000]
    patches = RandomPatches()
    assert digest(trained(make_job(tmp_path, patches))) == whole
    assert len(patches.reads) == 4 * (9 - 4)
    assert strays(tmp_path) == []
