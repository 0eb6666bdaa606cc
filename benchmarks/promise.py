"""A promise, its measurements, and whether it is kept: a row of the table."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

HEADER = (
    "| what | measured | smallest to largest | promise | kept | script |",
    "|---|---|---|---|---|---|",
)


@dataclass(frozen=True)
class Promise:
    """Repeated measurements, and the bound for their median; None: only stated."""

    what: str
    measured: Sequence[float]
    at_most: float | None = None
    at_least: float | None = None
    unit: str = "x"

    @property
    def figure(self) -> float:
        return median(self.measured)

    @property
    def kept(self) -> bool:
        too_much = self.at_most is not None and not self.figure <= self.at_most
        too_little = self.at_least is not None and not self.figure >= self.at_least
        return not (too_much or too_little)

    def row(self) -> str:
        bar = "stated"
        if self.at_most is not None:
            bar = f"at most {self._show(self.at_most)}"
        if self.at_least is not None:
            bar = f"at least {self._show(self.at_least)}"
        spread = ""
        if len(self.measured) > 1:
            spread = f"{self._show(min(self.measured))} to {self._show(max(self.measured))}"
        kept = "" if bar == "stated" else "yes" if self.kept else "**no**"
        return f"| {self.what} | {self._show(self.figure)} | {spread} | {bar} | {kept} |"

    def _show(self, value: float) -> str:
        digits = 0 if value == round(value) or value >= 100 else 1 if value >= 10 else 3
        if 0 < value < 0.01:
            return f"{value:.1e}{self.unit}"
        return f"{value:,.{digits}f}{self.unit}"


def report(*promises: Promise) -> None:
    """Print the rows; end with an error if a promise is missed."""
    for promise in promises:
        print(promise.row(), flush=True)
    sys.exit(0 if all(promise.kept for promise in promises) else 1)


def note(text: str) -> None:
    """Print a note that is not a row of the table."""
    print(f"  {text}", file=sys.stderr, flush=True)


def timed(work: Callable[[], Any]) -> float:
    """Return the seconds that something takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def take_turns(rounds: int, *works: Callable[[], Any]) -> list[tuple[float, ...]]:
    """Return the seconds of each in every round; in every other round they go in reverse.

    Alternating cancels drifts of the machine's speed, and no one is always first.
    """
    rows = []
    for number in range(rounds):
        turn = works if number % 2 == 0 else works[::-1]
        seconds = [timed(work) for work in turn]
        rows.append(tuple(seconds if number % 2 == 0 else seconds[::-1]))
        note(", ".join(f"{one:.2f} s" for one in rows[-1]))
    return rows
