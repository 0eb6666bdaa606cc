"""Table III: levels of blur."""

from idemnet.studies.parts import cells, figures, tables
from idemnet.studies.parts.claims import ClaimAtEach
from idemnet.studies.parts.paper import WITH, WITHOUT, PaperTable
from idemnet.studies.parts.results import by_level
from idemnet.studies.parts.study import Study

PAPER = PaperTable(
    "III",
    "GoPro's test frames, averaged anew",
    head=("level", "MT-RNN", WITHOUT, WITH),
    rows=(
        ("5", "35.17", "34.77", "35.05"),
        ("7", "33.67", "33.82", "33.98"),
        ("9", "32.37", "32.81", "33.00"),
        ("11", "31.12", "31.75", "31.92"),
        ("13", "29.91", "30.55", "30.72"),
        ("15", "28.68", "29.14", "29.31"),
    ),
    notes=(
        "Level 11 is GoPro's own test set; without the constraint the paper has 31.75 dB for it in "
        "this table and 31.80 in Table I.",
    ),
    unit="PSNR in dB",
)
STUDY = Study(
    name="levels",
    title="Levels of blur (Table III)",
    task="deblur",
    order=3,
    cells=(
        cells.MTRNN_WITHOUT,
        cells.DMPHN_WITHOUT,
        cells.IDEMPOTENT_WITHOUT,
        cells.IDEMPOTENT,
    ),
    paper=PAPER,
    tables=tables.ByKey(
        "level",
        by_level,
        PAPER,
        {"mtrnn_without": "MT-RNN", "idempotent_without": WITHOUT, "idempotent": WITH},
    ),
    figure=figures.lines("level (frames averaged)", by_level),
    claims=(
        ClaimAtEach(
            "The constraint raises PSNR at level {}", "idempotent", "idempotent_without", by_level
        ),
    ),
)
