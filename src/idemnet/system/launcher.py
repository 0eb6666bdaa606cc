"""The place of this process under an outer launcher: torchrun, or srun with the same variables."""

import os
from dataclasses import dataclass

from idemnet.errors import BadInputError

NUMBERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
ADDRESS = ("MASTER_ADDR", "MASTER_PORT")


@dataclass(frozen=True)
class Place:
    """A process's place among all that an outer launcher has started."""

    rank: int
    size: int
    local_rank: int
    local_size: int


def launched_place() -> Place | None:
    """Return this process's place, or None without an outer launcher.

    Raises:
        BadInputError: If only some of its variables are set.
    """
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        return None
    missing = [name for name in NUMBERS if not os.environ.get(name, "").isdecimal()]
    missing += [name for name in ADDRESS if not os.environ.get(name)]
    if missing:
        raise BadInputError(
            f"RANK and WORLD_SIZE are set, as by torchrun or srun, but not {', '.join(missing)}; "
            "set all of them, or unset RANK and WORLD_SIZE to train without an outer launcher"
        )
    rank, size, local_rank = (int(os.environ[name]) for name in NUMBERS)
    return Place(rank, size, local_rank, int(os.environ.get("LOCAL_WORLD_SIZE", size)))
