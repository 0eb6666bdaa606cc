"""Tables of studies, with rows for cells, levels, passes or noise strengths."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from idemnet.steps.study import Outcome
from idemnet.studies.parts import results
from idemnet.studies.parts.paper import WITH, WITHOUT, PaperTable
from idemnet.studies.parts.results import FAILED, Cells, Curve, Measure, Numbers

Entry = str | Numbers


@dataclass(frozen=True)
class StudyTable:
    """A table of numbers; the first column labels the rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    paper: PaperTable | None = None
    """Source of the columns headed `paper`."""
    caption: str = ""


@dataclass(frozen=True)
class Column:
    head: str
    measure: Measure
    digits: int = 2


PSNR = Column("PSNR, dB", results.psnr)
GAIN = Column("gain, dB", results.gain, 3)
SSIM = Column("SSIM", results.ssim, 4)
LOSS = Column("lost by repeating, dB", results.loss)
CHANGE = Column("change of 255", results.change)
PARAMETERS = Column("parameters", results.parameters, 0)
MACS = Column("GMAC at 1280x720", results.macs, 1)
MACS_256 = Column("GMAC at 256x256", results.macs_256, 1)
SECONDS = Column("seconds", results.seconds, 3)

SCORED = (PSNR, GAIN, SSIM, LOSS, CHANGE)

OURS = {"idempotent": f"the paper's, {WITH}", "idempotent_without": f"the paper's, {WITHOUT}"}
PEERS = {"dmphn_without": "DMPHN", "mtrnn_without": "MT-RNN"}
"""Rows of the paper's tables, by cell."""


@dataclass(frozen=True)
class ByCell:
    """A table with a row for each cell."""

    columns: tuple[Column, ...]
    paper: PaperTable | None = None
    paper_columns: tuple[str, ...] = ()
    paper_rows: Mapping[str, str] = field(default_factory=dict)
    """By cell."""
    of_sequence: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The paper's columns by sequence, if sequences are scored separately."""

    def __call__(self, cells: Cells) -> list[StudyTable]:
        apart = cells.sequences != [""]
        theirs = next(iter(self.of_sequence.values()), ()) if apart else self.paper_columns
        rows = [
            (
                cells.labels[name],
                *(cells.numbers(name, one.measure, one.digits) for one in self.columns),
                *self._of_paper(*name.partition("@")[::2], len(theirs)),
            )
            for name in cells.names
        ]
        head = ("network", *(one.head for one in self.columns), *of_paper(theirs))
        return [StudyTable(head, tuple(rows), self.paper)]

    def _of_paper(self, cell: str, sequence: str, wanted: int) -> list[str]:
        columns = self.of_sequence.get(sequence, ()) if sequence else self.paper_columns
        if self.paper is None or not columns:
            return [""] * wanted
        return [self.paper.number(self.paper_rows.get(cell, ""), one) for one in columns]


@dataclass(frozen=True)
class ByKey:
    """A table with a column for each cell, and rows for levels, noise or passes."""

    key: str
    curve: Curve
    paper: PaperTable
    paper_columns: Mapping[str, str]
    """By cell."""

    def __call__(self, cells: Cells) -> list[StudyTable]:
        names = [cell for cell in cells.names if cell not in cells.on_restored]
        curves = {cell: cells.curve(cell, self.curve) for cell in names}
        keys = list(dict.fromkeys(key for curve in curves.values() for key in curve))
        papers = list(dict.fromkeys(self.paper_columns[one] for one in names
                                    if one in self.paper_columns))  # fmt: skip
        rows = [
            (
                key,
                *(curves[cell].get(key, FAILED) for cell in names),
                *(self.paper.number(key, one) for one in papers),
            )
            for key in keys
        ]
        head = (self.key, *(cells.labels[cell] for cell in names), *of_paper(papers))
        return [StudyTable(head, tuple(rows), self.paper)]


def trainings(cells: Cells) -> StudyTable | None:
    """Return updates and hours of each cell's training; None for results without them."""
    outcomes = [one for one in cells.results.outcomes if one.updates is not None and not one.after]
    by_cell: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_cell.setdefault(outcome.cell, []).append(outcome)
    if not outcomes:
        return None
    rows = [(found[0].label, f"{found[0].updates:,}", _hours(found)) for found in by_cell.values()]
    # Cells that differ only in what they restore, and sequences, share a training.
    once = {repr(sorted(one.settings.items())): one for one in outcomes}.values()
    updates, hours = (sum(getattr(one, name) or 0 for one in once) for name in ("updates", "hours"))
    caption = (
        f"{len(once)} trainings: {updates:,} updates and {hours:.1f} hours in all, measured while "
        "other work shared the machine, without pauses."
    )
    return StudyTable(("network", "updates", "hours"), tuple(rows), caption=caption)


def _hours(outcomes: list[Outcome]) -> Entry:
    known = tuple(one.hours for one in outcomes if one.hours is not None)
    return Numbers(known) if known else ""


def of_paper(columns: Iterable[str]) -> list[str]:
    """Return the headings of the paper's columns."""
    return [f"paper: {column}" for column in columns]
