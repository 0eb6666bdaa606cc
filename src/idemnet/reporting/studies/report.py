"""A study as files, and all studies as one page."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from markupsafe import Markup

from idemnet.evaluation.protocols import PROTOCOLS
from idemnet.reporting.beside import may_stand_beside
from idemnet.reporting.paper import PaperTable
from idemnet.reporting.studies.claims import Verdict, judge
from idemnet.reporting.studies.drawing import draw_figure
from idemnet.reporting.studies.layouts import Entry, StudyTable, plain, tables_of
from idemnet.reporting.studies.numbers import Cells
from idemnet.reporting.tables import to_csv
from idemnet.reporting.templates import fill
from idemnet.reporting.words import count, name_of
from idemnet.steps.study import StudyResults

TITLES: Mapping[str, str] = {
    "gopro": "Each network, with and without the constraint (Table I)",
    "realblur": "RealBlur, with weights that never saw it (Table II)",
    "levels": "Levels of blur (Table III)",
    "ablation": "What each part is worth (Table IV)",
    "constraint": "The constraint in other networks (Table V)",
    "longer": "Three times as many updates (not in the paper)",
    "repeat": "Restored again and again (Fig. 2, Table VI)",
    "iterations": "Iteration by iteration (Table VII)",
    "noise": "With noise (Table VIII)",
    "dehaze": "Dehazing (Table IX)",
    "derain": "Deraining (Table X)",
    "thermal": "One channel, the same weights (Fig. 7)",
    "speed": "Speed and PSNR (Fig. 1)",
}


@dataclass(frozen=True)
class Section:
    """A study in words, tables and a figure."""

    name: str
    title: str
    measured: str
    tables: list[StudyTable]
    captions: list[str]
    warning: str
    notes: tuple[str, ...]
    verdicts: list[Verdict]
    failures: list[str]
    settings: Mapping[str, Any]
    figure: Markup


def make_study_report(results: StudyResults) -> dict[str, bytes]:
    """Return a study's files by name; the same results give the same bytes."""
    cells = Cells(results)
    figure = draw_figure(cells)
    section = describe(cells, figure)
    first, *others = section.tables
    claims = [[one.claim, one.difference, one.verdict] for one in section.verdicts]
    files = {
        "results.json": (json.dumps(asdict(results), indent=1, allow_nan=False) + "\n").encode(),
        "table.csv": _csv(first),
        "claims.csv": to_csv(["claim", "difference", "verdict"], claims),
        "table.md": fill("study.md.j2", study=section, text=text).encode(),
        "figure.svg": figure,
    }
    return files | {f"table_{at}.csv": _csv(table) for at, table in enumerate(others, 2)}


def render_studies(studies: Mapping[str, StudyResults]) -> str:
    """Put studies on one page, in the paper's order."""
    sections = []
    for name in TITLES:
        if name in studies:
            cells = Cells(studies[name])
            sections.append(describe(cells, draw_figure(cells)))
    return fill("studies.html.j2", studies=sections, text=text)


def describe(cells: Cells, figure: bytes) -> Section:
    """Lay out everything there is to say of a study."""
    name, tables = cells.results.name, tables_of(cells)
    papers = [table.paper for table in tables if table.paper]
    return Section(
        name,
        TITLES[name],
        _measured(cells),
        tables,
        [_caption(table) for table in tables],
        _warning(cells, papers),
        tuple(dict.fromkeys(note for one in papers for note in one.notes)),
        judge(cells),
        cells.failures,
        cells.shared_settings,
        Markup(figure.decode().partition("?>")[2]),  # noqa: S704 - drawn by us, escaped by matplotlib
    )


def text(entry: Entry) -> str:
    """Write an entry as people read it."""
    return entry if isinstance(entry, str) else entry.text


def _measured(cells: Cells) -> str:
    """Describe what the scores were measured on."""
    metrics = cells.any_metrics
    if metrics is None:
        return "Nothing was measured: every cell failed."
    seeds = count(cells.seeds, "seed")
    spread = ": mean ± standard deviation" if cells.seeds > 1 else ""
    repeat = metrics["repeat"]
    return (
        f"Measured on {name_of(metrics['dataset'])}, {count(metrics['images'], 'test image')}, "
        f"protocol {metrics['protocol']} ({PROTOCOLS[metrics['protocol']].description}), on "
        f"{metrics['device']}; {seeds}{spread}. Repeating ({len(repeat['psnr'])} passes, chained "
        f"as {repeat['chain']}), iterations and noise: {count(repeat['images'], 'image')} of them."
    )


def _caption(table: StudyTable) -> str:
    return f"Columns headed “paper”: {table.paper.caption}." if table.paper else ""


def _warning(cells: Cells, papers: list[PaperTable]) -> str:
    metrics = cells.any_metrics
    if metrics is None or not papers or all(may_stand_beside(one, metrics) for one in papers):
        return ""
    return (
        f"Two different measurements: ours on {name_of(metrics['dataset'])} ({metrics['device']}, "
        f"small networks), the paper's on {papers[0].data}. What may be compared is in which "
        "direction figures differ, not the figures."
    )


def _csv(table: StudyTable) -> bytes:
    """Write means and spreads side by side; columns without a spread have none."""
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
