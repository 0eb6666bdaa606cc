"""Fig. 1: speed and PSNR."""

from typing import TYPE_CHECKING

from idemnet.studies.gopro import PAPER
from idemnet.studies.parts import results, tables
from idemnet.studies.parts.cells import DMPHN_WITHOUT, IDEMPOTENT, MTRNN_WITHOUT, UNET
from idemnet.studies.parts.figures import COLOURS
from idemnet.studies.parts.published import COUNTED, PUBLISHED
from idemnet.studies.parts.results import Cells, Numbers
from idemnet.studies.parts.study import Study
from idemnet.studies.parts.tables import StudyTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(cells: Cells, figure: "Figure") -> None:
    """Draw PSNR over time; the area is the number of parameters."""
    axes = figure.subplots()
    axes.set(title="PSNR, dB; areas: parameters", xlabel="seconds for one image")
    axes.margins(0.25)
    for number, cell in enumerate(cells.names):
        found = cells.metrics(cell).values()
        if found:
            time, score, size = (
                Numbers(tuple(map(measure, found))).mean
                for measure in (results.seconds, results.psnr, results.parameters)
            )
            axes.scatter([time], [score], s=size / 2e3, color=COLOURS[number], alpha=0.7)
            axes.annotate(
                cells.labels[cell], (time, score), (0, -18), textcoords="offset points", ha="center"
            )


MEASURED = tables.ByCell(
    (
        tables.PSNR,
        tables.GAIN,
        tables.PARAMETERS,
        tables.MACS_256,
        tables.MACS,
        tables.SECONDS,
    ),
    PAPER,
    ("PSNR, dB", "parameters", "seconds"),
    tables.OURS | tables.PEERS,
)


def beside_anchors(cells: Cells) -> list[StudyTable]:
    """Return what was measured, what full size costs, and what was published, in a table each."""
    return [*MEASURED(cells), COUNTED, PUBLISHED]


STUDY = Study(
    name="speed",
    title="Speed and PSNR (Fig. 1)",
    task="deblur",
    order=12,
    cells=(IDEMPOTENT, DMPHN_WITHOUT, MTRNN_WITHOUT, UNET),
    paper=PAPER,
    tables=beside_anchors,
    figure=draw,
)
