"""Report of a study as files, and of all studies as one page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

from idemnet.evaluation.protocols import PROTOCOLS
from idemnet.reporting.comparability import is_comparable
from idemnet.reporting.formatting import dataset_title
from idemnet.reporting.plots import STYLE, encode, name_source
from idemnet.reporting.tables import to_csv
from idemnet.reporting.templates import fill, sentence
from idemnet.reporting.verdicts import Verdict, judge
from idemnet.steps.metrics import to_json
from idemnet.steps.study import STORED, StudyResults
from idemnet.studies import all_studies, get_study
from idemnet.studies.parts.figures import WIDTH
from idemnet.studies.parts.paper import PaperTable
from idemnet.studies.parts.results import Cells
from idemnet.studies.parts.study import Study
from idemnet.studies.parts.tables import Entry, StudyTable, trainings


@dataclass(frozen=True)
class Section:
    """Text, tables and figure of a study."""

    name: str
    title: str
    measured: str
    tables: list[StudyTable]
    captions: list[str]
    warning: str
    notes: tuple[str, ...]
    verdicts: list[Verdict]
    failures: list[str]
    trainings: StudyTable | None
    absent: list[str]
    """Labels of the study's cells that were not part of this run."""
    settings: Mapping[str, Any]
    figure: Markup


def make_study_report(results: StudyResults) -> dict[str, bytes]:
    """Return a study's files by name; the same results give the same bytes."""
    section, figure = describe(results)
    first, *others = section.tables
    claims = [[one.claim, one.difference, one.verdict] for one in section.verdicts]
    files = {
        "results.json": to_json(STORED.dump_python(results)),
        "table.csv": _csv(first),
        "claims.csv": to_csv(["claim", "difference", "verdict"], claims),
        "table.md": fill("study.md.j2", study=section, text=text).encode(),
        "figure.svg": figure,
    }
    if section.trainings:
        files["trainings.csv"] = _csv(section.trainings)
    return files | {f"table_{at}.csv": _csv(table) for at, table in enumerate(others, 2)}


def render_studies(studies: Mapping[str, StudyResults]) -> str:
    """Render studies as one page, in the paper's order."""
    sections = [describe(studies[name])[0] for name in all_studies() if name in studies]
    return fill("studies.html.j2", studies=sections, text=text)


def describe(results: StudyResults) -> tuple[Section, bytes]:
    """Return a study's section of the page, and its figure."""
    study, cells = get_study(results.name), Cells(results)
    tables, figure = study.tables(cells), draw_figure(study, cells)
    papers = [table.paper for table in tables if table.paper]
    section = Section(
        study.name,
        study.title,
        _measured(cells),
        tables,
        [
            sentence("study_caption", paper=one.paper) if one.paper else one.caption
            for one in tables
        ],
        _warning(cells, papers),
        tuple(dict.fromkeys(note for one in papers for note in one.notes)),
        judge(cells, study.claims),
        cells.failures,
        trainings(cells),
        [one.label for one in study.cells if one.name not in cells.run],
        cells.shared_settings,
        Markup(figure.decode().partition("?>")[2]),  # noqa: S704 - drawn by us, escaped by matplotlib
    )
    return section, figure


def draw_figure(study: Study, cells: Cells) -> bytes:
    """Draw a study as SVG."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 4.2))
        study.figure(cells, figure)
        if metrics := cells.any_metrics:
            images = metrics.repeat.images if study.detailed else metrics.images
            name_source(figure, metrics, images)
        return encode(figure, "svg")


def text(entry: Entry) -> str:
    """Format an entry of a table."""
    return entry if isinstance(entry, str) else entry.text


def _measured(cells: Cells) -> str:
    """Describe what the scores were measured on."""
    metrics = cells.any_metrics
    return sentence(
        "study_measured",
        metrics=metrics,
        dataset=metrics and dataset_title(metrics.dataset),
        protocol=metrics and PROTOCOLS[metrics.protocol],
        seeds=cells.seeds,
    )


def _warning(cells: Cells, papers: list[PaperTable]) -> str:
    metrics = cells.any_metrics
    if metrics is None or not papers or all(is_comparable(one, metrics) for one in papers):
        return ""
    dataset = dataset_title(metrics.dataset)
    return sentence("study_not_comparable", metrics=metrics, dataset=dataset, paper=papers[0])


def _csv(table: StudyTable) -> bytes:
    """Write means and spreads as CSV, with spread columns where there are any."""
    spread = [any(not isinstance(row[at], str) for row in table.rows)
              for at in range(len(table.head))]  # fmt: skip
    head = [
        name
        for at, one in enumerate(table.head)
        for name in ([one, f"{one} (spread)"] if spread[at] else [one])
    ]
    rows = (
        [
            value
            for at, entry in enumerate(row)
            for value in (plain(entry) if spread[at] else plain(entry)[:1])
        ]
        for row in table.rows
    )
    return to_csv(head, rows)


def plain(entry: Entry) -> tuple[Any, Any]:
    """Return mean and spread as plain values; text stays text."""
    if isinstance(entry, str):
        return entry, ""
    return entry.mean, "" if entry.spread is None else entry.spread
