"""Shared and exclusive locks of files, which the kernel releases when their owner exits.

Elsewhere filelock is enough; it has no shared locks. Windows has no fcntl, so it is imported late:
there, pictures are restored and runs compared, which needs no such lock.
"""

import logging
from contextlib import suppress
from enum import Enum
from typing import IO, Any

logger = logging.getLogger(__name__)


class LockMode(Enum):
    """Who else may lock a file: other readers, or nobody."""

    SHARED = "shared"
    EXCLUSIVE = "exclusive"


def try_lock(file: IO[Any], mode: LockMode) -> None:
    """Lock an open file.

    On file systems without locks (some clusters), warn and continue without.

    Raises:
        BlockingIOError: If another process holds it.
    """
    import fcntl  # noqa: PLC0415

    kind = fcntl.LOCK_SH if mode is LockMode.SHARED else fcntl.LOCK_EX
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:  # ENOLCK, ENOTSUP, ENOSYS, ...
        logger.warning(
            "%s: cannot be locked (%s); make sure that no other run writes the same data",
            file.name, error.strerror,
        )  # fmt: skip


def share_lock(file: IO[Any]) -> None:
    """Turn an exclusive lock into a shared one."""
    import fcntl  # noqa: PLC0415

    with suppress(OSError):  # no locks on this file system, which was logged
        fcntl.flock(file, fcntl.LOCK_SH)
