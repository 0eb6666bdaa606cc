"""Table VII: iteration by iteration."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from idemnet.steps.metrics import MeanPasses, Metrics
from idemnet.studies.parts.cells import IDEMPOTENT, MTRNN_WITHOUT
from idemnet.studies.parts.claims import Claim
from idemnet.studies.parts.figures import COLOURS, count_below
from idemnet.studies.parts.paper import GOPRO, SECOND, PaperTable
from idemnet.studies.parts.results import Cells, Numbers
from idemnet.studies.parts.study import Study
from idemnet.studies.parts.tables import Entry, StudyTable, of_paper

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = PaperTable(
    "VII",
    GOPRO,
    head=("iteration", "PSNR, dB", "every", "sum", "second pass: PSNR, dB", "every", "sum"),
    rows=(
        ("1", "25.475", "3.614", "3.614", "31.903", "0.359", "0.359"),
        ("2", "25.556", "4.992", "6.235", "31.903", "0.422", "0.298"),
        ("3", "26.347", "3.834", "5.492", "31.897", "0.142", "0.540"),
        ("4", "28.191", "3.123", "8.329", "31.895", "0.381", "0.531"),
        ("5", "30.975", "4.302", "11.674", "31.895", "0.675", "0.359"),
        ("6", "31.917", "3.903", "13.026", "31.973", "0.673", "0.071"),
    ),
    notes=(SECOND,),
)
MTRNN = PaperTable(
    "VII",
    GOPRO,
    head=PAPER.head,
    rows=(
        ("1", "26.432", "2.324", "2.324", "31.093", "0.386", "0.386"),
        ("2", "27.606", "3.118", "5.102", "31.002", "0.535", "0.803"),
        ("3", "29.001", "3.283", "7.811", "30.884", "0.584", "1.175"),
        ("4", "30.363", "3.203", "10.226", "30.762", "0.586", "1.491"),
        ("5", "31.083", "2.572", "11.943", "30.637", "0.580", "1.765"),
        ("6", "31.127", "1.217", "12.469", "30.509", "0.579", "2.020"),
    ),
)
COLUMNS: Sequence[Callable[[MeanPasses], Sequence[float]]] = (
    lambda passes: passes.first.psnr,
    lambda passes: passes.first.every,
    lambda passes: passes.first.sum,
    lambda passes: passes.second.psnr,
    lambda passes: passes.second.every,
    lambda passes: passes.second.sum,
)


def by_iteration(cells: Cells) -> list[StudyTable]:
    """Return a table of every iteration in the first and second pass."""
    papers: Mapping[str, PaperTable] = {"idempotent": PAPER, "mtrnn_without": MTRNN}
    columns = PAPER.head[1:]
    rows: list[tuple[Entry, ...]] = []
    for cell in cells.names:
        found = [metrics.iterations for metrics in cells.metrics(cell).values()]
        ours = len(found[0].first.psnr) if found else 0
        theirs = papers[cell].rows if cell in papers else ()
        rows += [
            (
                f"{cells.labels[cell]}: {at + 1}",
                *(
                    Numbers(tuple(column(one)[at] for one in found), 3) if at < ours else ""
                    for column in COLUMNS
                ),
                *(theirs[at][1:] if at < len(theirs) else [""] * len(columns)),
            )
            for at in range(max(ours, len(theirs)))
        ]
    head = ("iteration", *columns, *of_paper(columns))
    return [StudyTable(head, tuple(rows), PAPER)]


def draw(cells: Cells, figure: "Figure") -> None:
    """Draw both passes side by side."""
    panels = figure.subplots(1, 2, sharey=True)
    passes = (("first", COLUMNS[0]), ("second", COLUMNS[3]))
    for axes, (which, psnr) in zip(panels, passes, strict=True):
        axes.set(title=f"{which} pass: PSNR, dB", xlabel="iteration")
        for number, cell in enumerate(cells.names):
            found = [psnr(one.iterations) for one in cells.metrics(cell).values()]
            if found:
                points = [Numbers(values) for values in zip(*found, strict=True)]
                axes.errorbar(
                    range(1, len(points) + 1),
                    [one.mean for one in points],
                    yerr=[one.spread or 0 for one in points],
                    marker="o", capsize=3, color=COLOURS[number], label=cells.labels[cell],
                )  # fmt: skip
        count_below(axes)
    if panels[0].has_data():
        panels[0].legend()


def _second_pass_stability(metrics: Metrics) -> float:
    """Return the negative mean change by a second pass, of 255."""
    return -metrics.iterations.second.change


STUDY = Study(
    name="iterations",
    title="Iteration by iteration (Table VII)",
    task="deblur",
    order=7,
    cells=(IDEMPOTENT, MTRNN_WITHOUT),
    paper=PAPER,
    tables=by_iteration,
    figure=draw,
    detailed=True,
    claims=(
        Claim("A second pass changes less in the idempotent network than in MT-RNN", "idempotent",
              "mtrnn_without", _second_pass_stability, "of 255"),
    ),
)  # fmt: skip
