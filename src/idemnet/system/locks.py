"""File locks that the kernel drops when their owner ends, however it ends."""

import fcntl
import logging
from typing import IO, Any

logger = logging.getLogger(__name__)


def try_lock(file: IO[Any], mode: int = fcntl.LOCK_EX) -> None:
    """Lock an open file, or change the mode of the lock that is held on it.

    Where the file system has no locks (some of clusters), warn and continue without.

    Raises:
        BlockingIOError: If another process holds it.
    """
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:  # ENOLCK, ENOTSUP, ENOSYS, ...
        logger.warning(
            "%s: cannot be locked (%s); make sure that no other run writes the same data",
            file.name, error.strerror,
        )  # fmt: skip
