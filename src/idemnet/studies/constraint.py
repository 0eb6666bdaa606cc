"""Table V: the constraint in other networks."""

from idemnet.studies.gopro import PAPER as SCORES
from idemnet.studies.parts import cells, figures, tables
from idemnet.studies.parts.claims import loses_less_by_repeating, raises_psnr
from idemnet.studies.parts.paper import GOPRO, WITH, PaperTable
from idemnet.studies.parts.study import Study

PAPER = PaperTable(
    "V, and I for the paper's own",
    GOPRO,
    head=("method", "PSNR, dB", "SSIM"),
    rows=(
        ("DMPHN", "30.25", "0.935"),
        (f"DMPHN, {WITH}", "30.36", "0.936"),
        ("MT-RNN", "31.15", "0.945"),
        (f"MT-RNN, {WITH}", "31.28", "0.945"),
        *(row[:3] for row in SCORES.rows if row[0].startswith("the paper's")),
    ),
)
STUDY = Study(
    name="constraint",
    title="The constraint in other networks (Table V)",
    task="deblur",
    order=5,
    cells=(
        cells.DMPHN_WITHOUT,
        cells.DMPHN,
        cells.MTRNN_WITHOUT,
        cells.MTRNN,
        cells.IDEMPOTENT_WITHOUT,
        cells.IDEMPOTENT,
        cells.UNET_WITHOUT,
        cells.UNET,
    ),
    paper=PAPER,
    tables=tables.ByCell(
        tables.SCORED,
        PAPER,
        ("PSNR, dB", "SSIM"),
        tables.OURS | tables.PEERS | {"dmphn": f"DMPHN, {WITH}", "mtrnn": f"MT-RNN, {WITH}"},
    ),
    figure=figures.bars,
    claims=(
        *raises_psnr("dmphn", "mtrnn", "idempotent", "unet"),
        *loses_less_by_repeating("dmphn", "mtrnn", "idempotent", "unet"),
    ),
)
