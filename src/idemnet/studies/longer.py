"""Not in the paper: whether claims fail because training is too short.

conf/base sets the length of the longer trainings; at full size nothing is longer.
"""

from idemnet.studies.parts import figures, tables
from idemnet.studies.parts.cells import ALONE, IDEMPOTENT, IDEMPOTENT_WITHOUT, LONG, LONG_WITHOUT
from idemnet.studies.parts.claims import Claim, kept
from idemnet.studies.parts.results import psnr
from idemnet.studies.parts.study import Cell, Study

ONE_ITERATION = {**ALONE, "network": {"idempotent": {"iterations": 1}}}

STUDY = Study(
    name="longer",
    title="Three times as many updates (not in the paper)",
    task="deblur",
    order=5,
    cells=(
        Cell("one_iteration", "one iteration, without", ONE_ITERATION),
        IDEMPOTENT_WITHOUT,
        IDEMPOTENT,
        Cell("long_one_iteration", "one iteration, without, trained longer", ONE_ITERATION),
        LONG_WITHOUT,
        LONG,
    ),
    tables=tables.ByCell(tables.SCORED),
    figure=figures.bars,
    claims=(
        Claim("Two iterations restore better than one", "idempotent_without", "one_iteration",
              psnr),
        Claim("Trained longer, two iterations restore better than one", "long_without",
              "long_one_iteration", psnr),
        Claim("The constraint raises PSNR", "idempotent", "idempotent_without", psnr),
        Claim("Trained longer, the constraint raises PSNR", "long", "long_without", psnr),
        Claim("Trained longer, less is lost by repeating with the constraint", "long",
              "long_without", kept),
    ),
)  # fmt: skip
