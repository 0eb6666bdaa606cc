"""Fig. 2 and Table VI: repeated restoration, also by another network."""

from idemnet.steps.metrics import Metrics
from idemnet.studies.parts import figures, results, tables
from idemnet.studies.parts.cells import (
    DMPHN,
    DMPHN_WITHOUT,
    IDEMPOTENT,
    IDEMPOTENT_WITHOUT,
    MTRNN,
    MTRNN_WITHOUT,
)
from idemnet.studies.parts.claims import Claim, loses_less_by_repeating
from idemnet.studies.parts.paper import GOPRO, SECOND, STACK, PaperTable
from idemnet.studies.parts.results import Cells, Measure, by_pass
from idemnet.studies.parts.study import Cell, Study
from idemnet.studies.parts.tables import StudyTable, of_paper

PAPER = PaperTable(
    "VI",
    GOPRO,
    head=("pass", "Stack(4)-DMPHN", "MT-RNN", "the paper's"),
    rows=(
        ("1", "31.402", "31.149", "31.917"),
        ("2", "30.192", "30.538", "31.916"),
        ("3", "29.896", "30.322", "31.914"),
    ),
    notes=(SECOND, STACK),
    unit="PSNR in dB",
)
AGAIN = PaperTable(
    "VI",
    GOPRO,
    head=("restored by, then by", "once", "again", "and again"),
    rows=(
        ("the paper's, the paper's", "31.917", "31.916", "31.914"),
        ("Stack(4)-DMPHN, Stack(4)-DMPHN", "31.402", "30.192", "29.896"),
        ("Stack(4)-DMPHN, the paper's", "31.402", "31.370", "31.369"),
        ("MT-RNN, MT-RNN", "31.149", "30.538", "30.322"),
        ("MT-RNN, the paper's", "31.149", "31.041", "31.039"),
    ),
    notes=(SECOND, STACK),
    unit="PSNR in dB",
)
AGAIN_ROWS = {
    "idempotent_after_idempotent": "the paper's, the paper's",
    "dmphn_after_dmphn": "Stack(4)-DMPHN, Stack(4)-DMPHN",
    "idempotent_after_dmphn": "Stack(4)-DMPHN, the paper's",
    "mtrnn_after_mtrnn": "MT-RNN, MT-RNN",
    "idempotent_after_mtrnn": "MT-RNN, the paper's",
}


def _before(metrics: Metrics) -> float:
    return metrics.input.psnr


def _second_pass(metrics: Metrics) -> float:
    """Return the PSNR after the second pass, from its change over the repeated images."""
    return metrics.restored.psnr + metrics.repeat.psnr[1] - metrics.repeat.psnr[0]


def restored_again(cells: Cells) -> list[StudyTable]:
    """Return a table of networks applied to images that another network restored."""
    measures: tuple[Measure, ...] = (_before, results.psnr, _second_pass)
    columns = AGAIN.head[1:]
    found = [
        (
            cells.labels[cell],
            *(cells.numbers(cell, measure) for measure in measures),
            *(AGAIN.number(AGAIN_ROWS.get(cell, ""), one) for one in columns),
        )
        for cell in cells.names
        if cell in cells.on_restored
    ]
    head = ("restored again", *columns, *of_paper(columns))
    return [StudyTable(head, tuple(found), AGAIN)] if found else []


CURVES = tables.ByKey(
    "pass",
    by_pass,
    PAPER,
    {"dmphn_without": "Stack(4)-DMPHN", "mtrnn_without": "MT-RNN", "idempotent": "the paper's"},
)

STUDY = Study(
    name="repeat",
    title="Restored again and again (Fig. 2, Table VI)",
    task="deblur",
    order=6,
    cells=(
        IDEMPOTENT_WITHOUT,
        IDEMPOTENT,
        DMPHN_WITHOUT,
        DMPHN,
        MTRNN_WITHOUT,
        MTRNN,
        Cell("idempotent_after_idempotent", "idempotent, after itself", after=IDEMPOTENT),
        Cell("dmphn_after_dmphn", "DMPHN, after DMPHN", DMPHN_WITHOUT.train, after=DMPHN_WITHOUT),
        Cell("idempotent_after_dmphn", "idempotent, after DMPHN", after=DMPHN_WITHOUT),
        Cell("mtrnn_after_mtrnn", "MT-RNN, after MT-RNN", MTRNN_WITHOUT.train, after=MTRNN_WITHOUT),
        Cell("idempotent_after_mtrnn", "idempotent, after MT-RNN", after=MTRNN_WITHOUT),
    ),
    paper=PAPER,
    tables=lambda cells: [*CURVES(cells), *restored_again(cells)],
    figure=figures.lines("pass", by_pass),
    detailed=True,
    claims=(
        *loses_less_by_repeating("idempotent", "dmphn", "mtrnn"),
        Claim("Images that DMPHN restored lose less in the idempotent network than in DMPHN",
              "idempotent_after_dmphn", "dmphn_after_dmphn", results.gain),
        Claim("Images that MT-RNN restored lose less in the idempotent network than in MT-RNN",
              "idempotent_after_mtrnn", "mtrnn_after_mtrnn", results.gain),
    ),
)  # fmt: skip
