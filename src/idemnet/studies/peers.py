"""Not in the paper: released weights of other networks beside ours, on the same images.

Those that have files (docs/peers.md) are listed in `study.studies.peers.cells`.
"""

from idemnet.studies.parts import figures, tables
from idemnet.studies.parts.cells import IDEMPOTENT
from idemnet.studies.parts.published import PUBLISHED
from idemnet.studies.parts.results import Cells
from idemnet.studies.parts.study import Cell, Study
from idemnet.studies.parts.tables import StudyTable

MEASURED = tables.ByCell((*tables.SCORED, tables.PARAMETERS, tables.MACS_256, tables.SECONDS))


def beside_published(cells: Cells) -> list[StudyTable]:
    """Return what was measured here, and what was published, in a table each."""
    return [*MEASURED(cells), PUBLISHED]


STUDY = Study(
    name="peers",
    title="Released weights of other networks (not in the paper)",
    task="deblur",
    cells=(
        Cell("starter", "gated U-shape, as shipped"),
        IDEMPOTENT,
        Cell("dmphn_released", "DMPHN, released weights", {"model": "dmphn"}),
        Cell("nafnet", "NAFNet, released weights"),
        Cell("mprnet", "MPRNet, released weights"),
        Cell("restormer", "Restormer, released weights"),
    ),
    tables=beside_published,
    figure=figures.bars,
)
