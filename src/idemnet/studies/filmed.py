"""Table III again: levels of blur, from real frames at 240 fps.

Few frames are at hand, and of a sequence that the networks were trained on: read the differences.
"""

from idemnet.studies.levels import PAPER
from idemnet.studies.parts import cells, figures, tables
from idemnet.studies.parts.claims import ClaimAtEach
from idemnet.studies.parts.paper import WITH, WITHOUT
from idemnet.studies.parts.results import Cells, by_level
from idemnet.studies.parts.study import Study
from idemnet.studies.parts.tables import StudyTable

LEVELS = tables.ByKey(
    "level",
    by_level,
    PAPER,
    {"mtrnn_without": "MT-RNN", "idempotent_without": WITHOUT, "idempotent": WITH},
)


def of_few_frames(cells: Cells) -> list[StudyTable]:
    """Return the levels, and from how many centres they are."""
    [levels] = LEVELS(cells)
    metrics = cells.any_metrics
    if metrics is None:
        return [levels]
    centres = {level: scores.input.images for level, scores in metrics.levels.items()}
    caption = (
        f"Few images: {next(iter(centres.values()))} centres of one sequence, whose windows "
        "overlap. If it is one that the networks were trained on, only the difference between "
        "networks says something, and little."
    )
    blurred = tuple(
        (level, str(centres[level]), f"{scores.input.psnr:.2f}")
        for level, scores in metrics.levels.items()
    )
    return [levels, StudyTable(("level", "images", "blurred: PSNR, dB"), blurred, caption=caption)]


STUDY = Study(
    name="filmed",
    title="Levels of blur, from real frames at 240 fps (Table III)",
    task="deblur",
    test_set="filmed",
    cells=(
        cells.MTRNN_WITHOUT,
        cells.DMPHN_WITHOUT,
        cells.IDEMPOTENT_WITHOUT,
        cells.IDEMPOTENT,
        cells.UNET_WITHOUT,
        cells.UNET,
    ),
    paper=PAPER,
    tables=of_few_frames,
    figure=figures.lines("level (frames averaged)", by_level),
    claims=tuple(
        ClaimAtEach(
            f"The constraint raises {whose} PSNR at level {{}} of filmed frames",
            cell,
            f"{cell}_without",
            by_level,
        )
        for cell, whose in (
            ("idempotent", "the idempotent network's"),
            ("unet", "the gated U-shape's"),
        )
    ),
)
