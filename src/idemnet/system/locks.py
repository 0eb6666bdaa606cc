"""File locks, which the kernel releases when their owner exits."""

import fcntl
import logging
from typing import IO, Any

logger = logging.getLogger(__name__)


def try_lock(file: IO[Any], mode: int = fcntl.LOCK_EX) -> None:
    """Lock an open file, or change the mode of its lock.

    On file systems without locks (some clusters), warn and continue without.

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
