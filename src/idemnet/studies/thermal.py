"""Fig. 7: one channel, as of a thermal camera, and the same weights."""

from idemnet.studies.parts import figures, tables
from idemnet.studies.parts.cells import ALONE, IDEMPOTENT, IDEMPOTENT_WITHOUT
from idemnet.studies.parts.claims import Claim, kept
from idemnet.studies.parts.results import gain
from idemnet.studies.parts.study import Cell, Study

STUDY = Study(
    name="thermal",
    title="One channel, the same weights (Fig. 7)",
    task="deblur",
    order=11,
    cells=(
        IDEMPOTENT_WITHOUT,
        Cell(
            "idempotent_without_grey", "idempotent, without, one channel", ALONE,
            single_channel=True,
        ),
        IDEMPOTENT,
        Cell("idempotent_grey", "idempotent, with, one channel", single_channel=True),
    ),
    tables=tables.ByCell(tables.SCORED),
    figure=figures.bars,
    claims=(
        Claim("One channel is restored too, with the constraint", "idempotent_grey", None, gain),
        Claim("With the constraint one channel loses less by repeating", "idempotent_grey",
              "idempotent_without_grey", kept),
    ),
)  # fmt: skip
