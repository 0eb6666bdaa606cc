"""Too little memory: said in a sentence that proposes what to make smaller."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from idemnet.errors import BadInputError

SHORTAGE = re.compile(
    r"can't allocate memory|out of memory|bad_alloc|could not create a (?:primitive|memory)", re.I
)
"""In the words of torch's allocators, the C++ library and oneDNN, which have no error of their
own for it; only Python and CUDA have."""


@contextmanager
def oom_hint(advice: str) -> Iterator[None]:
    """Where memory is short inside, propose what takes less.

    Raises:
        BadInputError: With what was lacking, and the advice.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not SHORTAGE.search(str(error)):
            raise
        # Workers put their traceback first, and torch a second line with its own.
        said = next((line for line in str(error).splitlines() if SHORTAGE.search(line)), "")
        raise BadInputError(
            f"memory is too short ({said or type(error).__name__}): {advice}"
        ) from error
