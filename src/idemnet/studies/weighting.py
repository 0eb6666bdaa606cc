"""Not in the paper: how the constraint is weighted, and when the second pass joins.

Each cell changes one thing of `idempotent`, whose weight and first epochs conf/ sets; the last has
the paper's weight and its schedule.
"""

from idemnet.studies.parts import figures, tables
from idemnet.studies.parts.cells import IDEMPOTENT, IDEMPOTENT_WITHOUT
from idemnet.studies.parts.claims import Claim, kept
from idemnet.studies.parts.results import psnr
from idemnet.studies.parts.study import Cell, Study

TENTH, HALF = {"idempotence_weight": 0.1}, {"idempotence_weight": 0.5}
FROM_START = {"single_pass_epochs": 0}

STUDY = Study(
    name="weighting",
    title="Weight and start of the constraint (not in the paper)",
    task="deblur",
    cells=(
        IDEMPOTENT_WITHOUT,
        IDEMPOTENT,
        Cell("weight_05", "idempotent, lambda 0.5", HALF),
        Cell("weight_01", "idempotent, lambda 0.1", TENTH),
        Cell("from_start", "idempotent, two passes from the start", FROM_START),
        Cell("detached", "idempotent, passes detached", {"detach_between_passes": True}),
        Cell("as_paper", "idempotent, lambda 0.1 from the start", {**TENTH, **FROM_START}),
    ),
    tables=tables.ByCell(tables.SCORED),
    figure=figures.bars,
    claims=(
        Claim("Lambda 0.1 restores better than 0.5", "weight_01", "weight_05", psnr),
        Claim("Lambda 0.5 loses less by repeating than 0.1", "weight_05", "weight_01", kept),
        Claim("A second pass that joins late restores better", "idempotent", "from_start", psnr),
        Claim("A gradient through both passes restores better", "idempotent", "detached", psnr),
        Claim("The constraint raises PSNR, as the paper sets it", "as_paper",
              "idempotent_without", psnr),
    ),
)  # fmt: skip
