"""Report out-of-memory errors with a hint on what to make smaller."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from idemnet.errors import BadInputError

OUT_OF_MEMORY = re.compile(
    r"can't allocate memory|out of memory|bad_alloc|could not create a (?:primitive|memory)", re.I
)
"""Messages of torch's allocators, the C++ library and oneDNN, which have no exception type for it;
only Python and CUDA have."""


@contextmanager
def oom_hint(advice: str) -> Iterator[None]:
    """Turn an out-of-memory error into one with advice on saving memory.

    Raises:
        BadInputError: With the original message and the advice.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not OUT_OF_MEMORY.search(str(error)):
            raise
        # Workers prepend their traceback, and torch appends lines of its own.
        said = next((line for line in str(error).splitlines() if OUT_OF_MEMORY.search(line)), "")
        raise BadInputError(f"out of memory ({said or type(error).__name__}): {advice}") from error
