"""The table of each study: whose rows are cells, or levels, passes, iterations and noise."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from idemnet.reporting import paper
from idemnet.reporting.paper import WITH, WITHOUT, PaperTable
from idemnet.reporting.studies import numbers
from idemnet.reporting.studies.numbers import FAILED, Cells, Measure, Metrics, Numbers

Entry = str | Numbers


@dataclass(frozen=True)
class StudyTable:
    """Rows of figures; the first column says what a row is about."""

    head: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    paper: PaperTable | None = None
    """Where the columns headed `paper` come from."""


@dataclass(frozen=True)
class Column:
    head: str
    measure: Measure
    digits: int = 2


PSNR = Column("PSNR, dB", numbers.psnr)
GAIN = Column("gain, dB", numbers.gain, 3)
SSIM = Column("SSIM", numbers.ssim, 4)
LOSS = Column("lost by repeating, dB", numbers.loss)
CHANGE = Column("change of 255", numbers.change)
PARAMETERS = Column("parameters", numbers.parameters, 0)
MACS = Column("GMAC at 1280x720", numbers.macs, 1)
SECONDS = Column("seconds", numbers.seconds, 3)

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
    """Of the paper's columns, those about one sequence, where each is scored apart."""

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
        head = ("network", *(one.head for one in self.columns), *map(_of_paper, theirs))
        return [StudyTable(head, tuple(rows), self.paper)]

    def _of_paper(self, cell: str, sequence: str, wanted: int) -> list[str]:
        columns = self.of_sequence.get(sequence, ()) if sequence else self.paper_columns
        if self.paper is None or not columns:
            return [""] * wanted
        return [self.paper.figure(self.paper_rows.get(cell, ""), one) for one in columns]


@dataclass(frozen=True)
class ByKey:
    """A table with a column for each cell, and rows for what figures depend on."""

    key: str
    curve: Callable[[Metrics], Mapping[str, float]]
    paper: PaperTable
    paper_columns: Mapping[str, str]
    """By cell."""

    def __call__(self, cells: Cells) -> list[StudyTable]:
        names = [cell for cell in cells.names if cell not in cells.on_restored]
        curves = {cell: curve_of(cells, cell, self.curve) for cell in names}
        keys = list(dict.fromkeys(key for curve in curves.values() for key in curve))
        papers = list(dict.fromkeys(self.paper_columns[one] for one in names
                                    if one in self.paper_columns))  # fmt: skip
        rows = [
            (
                key,
                *(curves[cell].get(key, FAILED) for cell in names),
                *(self.paper.figure(key, one) for one in papers),
            )
            for key in keys
        ]
        head = (self.key, *(cells.labels[cell] for cell in names), *map(_of_paper, papers))
        return [StudyTable(head, tuple(rows), self.paper)]


def curve_of(
    cells: Cells, cell: str, curve: Callable[[Metrics], Mapping[str, float]]
) -> dict[str, Numbers]:
    """Return a cell's figures by what they depend on."""
    found = [curve(metrics) for metrics in cells.metrics(cell).values()]
    if not found:
        return {}
    return {key: Numbers(tuple(one[key] for one in found)) for key in found[0]}


def by_level(metrics: Metrics) -> dict[str, float]:
    return {level: scores["restored"]["psnr"] for level, scores in metrics["levels"].items()}


def by_noise(metrics: Metrics) -> dict[str, float]:
    return {sigma: scores["restored"]["psnr"] for sigma, scores in metrics["noise"].items()}


def by_pass(metrics: Metrics) -> dict[str, float]:
    return {str(number): value for number, value in enumerate(metrics["repeat"]["psnr"], 1)}


def restored_again(cells: Cells) -> list[StudyTable]:
    """Show what networks make of images that another network has restored."""
    rows: Mapping[str, str] = {
        "idempotent_after_idempotent": "the paper's, the paper's",
        "dmphn_after_dmphn": "Stack(4)-DMPHN, Stack(4)-DMPHN",
        "idempotent_after_dmphn": "Stack(4)-DMPHN, the paper's",
        "mtrnn_after_mtrnn": "MT-RNN, MT-RNN",
        "idempotent_after_mtrnn": "MT-RNN, the paper's",
    }
    measures: Sequence[Measure] = (
        lambda metrics: float(metrics["input"]["psnr"]),
        numbers.psnr,
        # Of as many images as were repeated, so relative to what the first pass gave them.
        lambda metrics: (
            numbers.psnr(metrics) + metrics["repeat"]["psnr"][1] - metrics["repeat"]["psnr"][0]
        ),
    )
    columns = paper.AGAIN.table.head[1:]
    found = [
        (
            cells.labels[cell],
            *(cells.numbers(cell, measure) for measure in measures),
            *(paper.AGAIN.figure(rows.get(cell, ""), one) for one in columns),
        )
        for cell in cells.names
        if cell in cells.on_restored
    ]
    head = ("restored again", *columns, *map(_of_paper, columns))
    return [StudyTable(head, tuple(found), paper.AGAIN)] if found else []


def by_iteration(cells: Cells) -> list[StudyTable]:
    """Show every iteration of the first pass and of the second."""
    tables: Mapping[str, PaperTable] = {
        "idempotent": paper.ITERATIONS,
        "mtrnn_without": paper.MTRNN_ITERATIONS,
    }
    columns = paper.ITERATIONS.table.head[1:]
    rows: list[tuple[Entry, ...]] = []
    for cell in cells.names:
        found = [metrics["iterations"] for metrics in cells.metrics(cell).values()]
        ours = len(found[0]["first"]["psnr"]) if found else 0
        theirs = len(tables[cell].table.rows) if cell in tables else 0
        rows += [
            (
                f"{cells.labels[cell]}: {at + 1}",
                *(
                    Numbers(tuple(one[which][name][at] for one in found), 3) if at < ours else ""
                    for which in ("first", "second")
                    for name in ("psnr", "every", "sum")
                ),
                *(tables[cell].table.rows[at][1:] if at < theirs else [""] * len(columns)),
            )
            for at in range(max(ours, theirs))
        ]
    head = ("iteration", *columns, *map(_of_paper, columns))
    return [StudyTable(head, tuple(rows), paper.ITERATIONS)]


def _of_paper(column: str) -> str:
    return f"paper: {column}"


def _repeat(cells: Cells) -> list[StudyTable]:
    curves = ByKey(
        "pass",
        by_pass,
        paper.REPEAT,
        {
            "dmphn_without": "Stack(4)-DMPHN",
            "mtrnn_without": "MT-RNN",
            "idempotent": "the paper's",
        },
    )
    return [*curves(cells), *restored_again(cells)]


LAYOUTS: Mapping[str, Callable[[Cells], list[StudyTable]]] = {
    "gopro": ByCell(
        (PSNR, GAIN, SSIM, LOSS, PARAMETERS, SECONDS),
        paper.SCORES,
        ("PSNR, dB", "SSIM", "parameters", "seconds"),
        OURS | PEERS,
    ),
    "realblur": ByCell(
        (PSNR, GAIN, SSIM),
        paper.REALBLUR,
        of_sequence={f"RealBlur_{one}": (f"{one}: PSNR, dB", f"{one}: SSIM") for one in "JR"},
        paper_rows=OURS | PEERS,
    ),
    "levels": ByKey(
        "level",
        by_level,
        paper.LEVELS,
        {"mtrnn_without": "MT-RNN", "idempotent_without": WITHOUT, "idempotent": WITH},
    ),
    "ablation": ByCell(
        SCORED,
        paper.ABLATION,
        ("PSNR, dB", "SSIM"),
        {letter: letter for letter in "abcdefghijklm"},
    ),
    "constraint": ByCell(
        SCORED,
        paper.CONSTRAINT,
        ("PSNR, dB", "SSIM"),
        OURS | PEERS | {"dmphn": f"DMPHN, {WITH}", "mtrnn": f"MT-RNN, {WITH}"},
    ),
    "longer": ByCell(SCORED),
    "repeat": _repeat,
    "iterations": by_iteration,
    "noise": ByKey(
        "noise", by_noise, paper.NOISE, {"idempotent_without": WITHOUT, "idempotent": WITH}
    ),
    "dehaze": ByCell(SCORED, paper.DEHAZE, ("PSNR, dB", "SSIM"), OURS),
    "derain": ByCell(
        SCORED,
        paper.DERAIN,
        ("Test100", "Rain100H", "Rain100L"),
        OURS,
        {one: (one,) for one in ("Test100", "Rain100H", "Rain100L")},
    ),
    "thermal": ByCell(SCORED),
    "speed": ByCell(
        (PSNR, GAIN, PARAMETERS, MACS, SECONDS),
        paper.SCORES,
        ("PSNR, dB", "parameters", "seconds"),
        OURS | PEERS,
    ),
}


def tables_of(cells: Cells) -> list[StudyTable]:
    """Lay out a study's tables."""
    return LAYOUTS[cells.results.name](cells)


def plain(entry: Entry) -> tuple[Any, Any]:
    """Return mean and spread for a program to read; text stays text."""
    if isinstance(entry, str):
        return entry, ""
    return entry.mean, "" if entry.spread is None else entry.spread
