"""Table I: each network, with and without the constraint."""

from idemnet.studies.parts import cells, figures, results, tables
from idemnet.studies.parts.claims import Claim, raises_psnr
from idemnet.studies.parts.paper import DEVICE, GOPRO, STACK, TIMES, WITH, WITHOUT, PaperTable
from idemnet.studies.parts.study import Study

FASTER = "The paper's “6.4x faster than MPRNet” is 5.4x by its own table (0.15 s to 0.028 s)."

PAPER = PaperTable(
    "I",
    f"{GOPRO}, seconds on one {DEVICE}",
    head=("method", "PSNR, dB", "SSIM", "parameters", "seconds"),
    rows=(
        ("MS-CNN", "29.23", "0.914", "21.0 M", "0.94"),
        ("SRN-Deblur", "30.26", "0.931", "3.76 M", "0.25"),
        ("DMPHN", "30.25", "0.935", "7.23 M", "0.032"),
        ("MT-RNN", "31.15", "0.945", "2.63 M", "0.048"),
        ("Stack(4)-DMPHN", "31.20", "0.945", "28.9 M", "0.35"),
        ("MPRNet(3)", "32.66", "0.959", "20.1 M", "0.15"),
        (f"the paper's, {WITHOUT}", "31.80", "0.949", "3.11 M", "0.028"),
        (f"the paper's, {WITH}", "31.92", "0.953", "3.11 M", "0.028"),
    ),
    notes=(TIMES, FASTER, STACK),
)
STUDY = Study(
    name="gopro",
    title="Each network, with and without the constraint (Table I)",
    task="deblur",
    order=1,
    cells=(
        cells.IDEMPOTENT_WITHOUT,
        cells.IDEMPOTENT,
        cells.DMPHN_WITHOUT,
        cells.DMPHN,
        cells.MTRNN_WITHOUT,
        cells.MTRNN,
    ),
    paper=PAPER,
    tables=tables.ByCell(
        (tables.PSNR, tables.GAIN, tables.SSIM, tables.LOSS, tables.PARAMETERS, tables.SECONDS),
        PAPER,
        ("PSNR, dB", "SSIM", "parameters", "seconds"),
        tables.OURS | tables.PEERS,
    ),
    figure=figures.bars,
    claims=(
        *raises_psnr("idempotent", "dmphn", "mtrnn"),
        Claim("The idempotent network restores better than DMPHN", "idempotent", "dmphn_without",
              results.psnr),
        Claim("It restores better than MT-RNN", "idempotent", "mtrnn_without", results.psnr),
    ),
)  # fmt: skip
