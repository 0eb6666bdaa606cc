"""Meet the other processes of an outer launcher, in the store that torch keeps for them.

Rank 0 prepares the data and says in the store what it trains; the others wait for that. No file is
used for it: file systems of clusters often have no locks, and show new files late.
"""

import time
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import Any

import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from idemnet.errors import BadInputError

KEY = "idemnet/training"
POLL_SECONDS = 0.2


@cache  # rank 0 serves it for as long as it lives
def open_store(minutes: float) -> Any:
    """Connect to the store of all processes; rank 0 serves it, unless torchrun does.

    Raises:
        BadInputError: If they do not meet in time.
    """
    try:
        store, _, _ = next(rendezvous("env://", timeout=timedelta(minutes=minutes)))
    except dist.DistError as error:
        raise BadInputError(
            f"the processes did not meet at MASTER_ADDR:MASTER_PORT within {minutes:g} minutes "
            "(rendezvous_minutes); check that all were started and can reach it"
        ) from error
    return store


def announce(fingerprint: str, minutes: float) -> None:
    """Tell the other processes what is trained from now on; an empty name: nothing."""
    open_store(minutes).set(KEY, fingerprint)


def wait_for_training(minutes: float) -> str:
    """Wait until rank 0 has prepared the data; return the fingerprint of what it trains.

    Raises:
        BadInputError: If it has not in time, or has ended.
    """
    deadline = time.monotonic() + 60 * minutes
    store = open_store(minutes)
    with suppress(dist.DistError):  # rank 0 has ended, and the store with it
        while time.monotonic() < deadline:
            if store.check([KEY]):
                return str(store.get(KEY), "utf-8")
            time.sleep(POLL_SECONDS)  # and not in torch, where no signal would be heard
    raise BadInputError(
        f"rank 0 has ended, or has not prepared the data within {minutes:g} minutes "
        "(rendezvous_minutes); its output says why"
    )
