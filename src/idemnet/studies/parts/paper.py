"""Tables of the paper as data, with notes on inconsistencies."""

from dataclasses import dataclass

DEVICE = "RTX 2080 Ti"
WITHOUT, WITH = "without the constraint", "with the constraint"
GOPRO = "GoPro, 1,111 test images"
IMAGES = 1111
TIMES = (
    "The paper's seconds cannot be the time of a restoration: 0.028 s for the 4.38 TFLOP of a "
    "1280x720 image would be 156 TFLOPS, from a card that peaks at about 13.4. They were taken "
    "without waiting for the device to finish; ours wait."
)
STACK = "Stack(4)-DMPHN has 31.20 dB in Table I and 31.402 in Table VI."
SECOND = (
    "After the second pass the paper has 31.916 dB in Table VI and 31.973 in Table VII, for the "
    "same network on the same images."
)


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper, transposed so that its rows have comparable keys."""

    table: str
    """Its number there."""
    data: str
    """Data set behind the numbers."""
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    """Notes on inconsistent numbers."""
    unit: str = ""
    """Unit of all numbers, if the columns do not say."""
    same_as: tuple[tuple[str, str], ...] = (("gopro", "gopro"),)
    """Data sets and protocols whose scores are comparable."""

    def number(self, row: str, column: str) -> str:
        """Look up a number; empty if the paper has none."""
        at = self.head.index(column)
        return next((cells[at] for cells in self.rows if cells[0] == row), "")

    @property
    def caption(self) -> str:
        return f"Paper, Table {self.table}: {self.data}" + (f"; {self.unit}" if self.unit else "")
