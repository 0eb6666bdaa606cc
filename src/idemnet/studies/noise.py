"""Table VIII: with noise."""

from idemnet.studies.parts import cells, figures, tables
from idemnet.studies.parts.claims import ClaimAtEach
from idemnet.studies.parts.paper import GOPRO, WITH, WITHOUT, PaperTable
from idemnet.studies.parts.results import by_noise
from idemnet.studies.parts.study import Study

PAPER = PaperTable(
    "VIII",
    f"{GOPRO}, with Gaussian noise",
    head=("noise", WITHOUT, WITH),
    rows=(
        ("0", "31.80", "31.92"),
        ("5", "30.76", "30.89"),
        ("10", "29.58", "29.66"),
        ("15", "28.16", "28.24"),
        ("20", "26.05", "26.55"),
    ),
    unit="PSNR in dB",
)
STUDY = Study(
    name="noise",
    title="With noise (Table VIII)",
    task="deblur",
    order=8,
    cells=(cells.IDEMPOTENT_WITHOUT, cells.IDEMPOTENT),
    paper=PAPER,
    tables=tables.ByKey(
        "noise", by_noise, PAPER, {"idempotent_without": WITHOUT, "idempotent": WITH}
    ),
    figure=figures.lines("noise (standard deviation, of 255)", by_noise),
    detailed=True,
    claims=(
        ClaimAtEach(
            "The constraint raises PSNR at noise {}", "idempotent", "idempotent_without", by_noise
        ),
    ),
)
