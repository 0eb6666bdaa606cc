"""Table II: RealBlur, with weights that were not trained on it."""

from idemnet.studies.parts import cells, figures, tables
from idemnet.studies.parts.claims import raises_psnr
from idemnet.studies.parts.paper import DEVICE, TIMES, WITH, WITHOUT, PaperTable
from idemnet.studies.parts.study import Study

PAPER = PaperTable(
    "II",
    f"RealBlur, trained on GoPro only, seconds on one {DEVICE}",
    head=("method", "J: PSNR, dB", "J: SSIM", "R: PSNR, dB", "R: SSIM", "seconds"),
    rows=(
        ("MT-RNN", "28.44", "0.862", "35.77", "0.951", "0.039"),
        ("DeblurGANv2", "28.70", "0.867", "35.26", "0.944", "0.048"),
        ("MPRNet(3)", "28.70", "0.873", "35.99", "0.952", "0.16"),
        (f"the paper's, {WITHOUT}", "28.69", "0.868", "35.79", "0.949", "0.023"),
        (f"the paper's, {WITH}", "28.72", "0.876", "35.86", "0.951", "0.023"),
    ),
    notes=(TIMES, "“980 pairs” are the test split of RealBlur's 4,738."),
    same_as=(),
)
STUDY = Study(
    name="realblur",
    title="RealBlur, with weights that never saw it (Table II)",
    task="deblur",
    order=2,
    test_set="realblur",
    sequences_apart=True,
    evaluate={"protocol": "realblur"},
    cells=(cells.MTRNN_WITHOUT, cells.IDEMPOTENT_WITHOUT, cells.IDEMPOTENT),
    paper=PAPER,
    tables=tables.ByCell(
        (tables.PSNR, tables.GAIN, tables.SSIM),
        PAPER,
        of_sequence={f"RealBlur_{one}": (f"{one}: PSNR, dB", f"{one}: SSIM") for one in "JR"},
        paper_rows=tables.OURS | tables.PEERS,
    ),
    figure=figures.bars,
    claims=raises_psnr("idempotent"),
)
