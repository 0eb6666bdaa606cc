"""Images on every core, in threads: decoding, OpenCV and NumPy all work without Python's lock."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import cv2

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Return the results in the items' order, each as soon as it and those before it are there."""
    before = cv2.getNumThreads()
    # Else every call would start threads of its own beside ours, more than there are cores.
    cv2.setNumThreads(1)
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)
        cv2.setNumThreads(before)
