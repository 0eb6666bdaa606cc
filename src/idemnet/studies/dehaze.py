"""Table IX: dehazing."""

from idemnet.studies.parts import cells, figures, tables
from idemnet.studies.parts.claims import loses_less_by_repeating, raises_psnr
from idemnet.studies.parts.paper import WITH, WITHOUT, PaperTable
from idemnet.studies.parts.study import Study

PAPER = PaperTable(
    "IX",
    "SOTS indoor, 500 images",
    head=("method", "PSNR, dB", "SSIM"),
    rows=(
        ("GridDehazeNet", "32.16", "0.9836"),
        ("FFA-Net", "36.39", "0.9556"),
        ("HardGAN", "36.56", "0.9905"),
        (f"the paper's, {WITHOUT}", "34.78", "0.9823"),
        (f"the paper's, {WITH}", "36.64", "0.9851"),
    ),
    same_as=(),
)
STUDY = Study(
    name="dehaze",
    title="Dehazing (Table IX)",
    task="dehaze",
    order=9,
    cells=(cells.IDEMPOTENT_WITHOUT, cells.IDEMPOTENT),
    paper=PAPER,
    tables=tables.ByCell(tables.SCORED, PAPER, ("PSNR, dB", "SSIM"), tables.OURS),
    figure=figures.bars,
    claims=(*raises_psnr("idempotent"), *loses_less_by_repeating("idempotent")),
)
