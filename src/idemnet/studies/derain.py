"""Table X: deraining."""

from idemnet.studies.parts import cells, figures, tables
from idemnet.studies.parts.claims import loses_less_by_repeating, raises_psnr
from idemnet.studies.parts.paper import WITH, WITHOUT, PaperTable
from idemnet.studies.parts.study import Study

PAPER = PaperTable(
    "X",
    "Test100, Rain100H and Rain100L",
    head=("method", "Test100", "Rain100H", "Rain100L"),
    rows=(
        ("PreNet", "24.81, 0.851", "26.77, 0.858", "32.44, 0.950"),
        ("MSPFN", "27.50, 0.876", "28.66, 0.860", "32.40, 0.933"),
        (f"the paper's, {WITHOUT}", "28.94, 0.889", "29.97, 0.881", "34.14, 0.942"),
        (f"the paper's, {WITH}", "29.00, 0.892", "30.10, 0.882", "34.68, 0.954"),
    ),
    unit="PSNR in dB, SSIM",
    same_as=(),
)
TEST_SETS = ("Test100", "Rain100H", "Rain100L")

STUDY = Study(
    name="derain",
    title="Deraining (Table X)",
    task="derain",
    order=10,
    cells=(cells.IDEMPOTENT_WITHOUT, cells.IDEMPOTENT),
    paper=PAPER,
    tables=tables.ByCell(
        tables.SCORED, PAPER, TEST_SETS, tables.OURS, {one: (one,) for one in TEST_SETS}
    ),
    figure=figures.bars,
    claims=(*raises_psnr("idempotent"), *loses_less_by_repeating("idempotent")),
)
