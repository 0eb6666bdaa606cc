"""Topics of the page: sentences, a plot, and tables next to the paper's."""

from dataclasses import dataclass, replace

from idemnet.reporting import tables
from idemnet.reporting.comparability import is_comparable, label_of, missing_run, tables_with_paper
from idemnet.reporting.findings import Findings
from idemnet.reporting.formatting import dataset_title
from idemnet.reporting.tables import Table
from idemnet.reporting.templates import paragraphs, sentence
from idemnet.studies import all_studies, iterations, levels, noise, repeat
from idemnet.studies.parts.paper import PaperTable


@dataclass(frozen=True)
class Topic:
    """A section of the page."""

    name: str
    title: str
    text: tuple[str, ...]
    plot: str | None = None
    """As a data URI."""
    plot_says: str = ""
    """Alternative text of the plot."""
    tables: tuple[Table, ...] = ()
    warning: str = ""
    """Warning about the tables' comparability."""
    notes: tuple[str, ...] = ()
    command: str = ""


def topics_of(found: Findings) -> list[Topic]:
    """Return the topics that have results, in page order."""
    topics = (
        _sources(found), _gains(found), _repeat(found), _iterations(found), _levels(found),
        _noise(found), _training(found), _cost(found), _scores(found),
    )  # fmt: skip
    return [topic for topic in topics if topic]


def _sources(found: Findings) -> Topic | None:
    table = tables.sources_table(found.metrics)
    if table is None:
        return None
    return Topic("sources", "Data set by data set", paragraphs("sources"), tables=(table,))


def _gains(found: Findings) -> Topic:
    return Topic(
        "gains",
        "Image by image",
        paragraphs("gains", better=found.better, images=len(found.rows)),
        found.plot("gains"),
        "Gain of each image in dB, sorted",
        (tables.extremes_table(found.rows),),
    )


def _repeat(found: Findings) -> Topic:
    metrics, settings = found.metrics, found.settings
    missing, command = missing_run(settings, metrics.task, metrics.dataset)
    text = paragraphs("repeat", label=label_of(settings), other=found.other, missing=missing)
    return _with_paper(
        found,
        Topic(
            "repeat", "Restored again and again", text, found.plot("repeat"),
            "PSNR after each pass", (tables.repeat_table(metrics, found.curves),),
            command="" if found.other else command,
        ),
        repeat.PAPER,
    )  # fmt: skip


def _iterations(found: Findings) -> Topic:
    return _with_paper(
        found,
        Topic(
            "iterations",
            "Iteration by iteration",
            paragraphs("iterations"),
            found.plot("iterations"),
            "PSNR after each iteration, and the change of pixels in it, for two passes",
            (tables.iterations_table(found.metrics),),
        ),
        iterations.PAPER,
    )


def _levels(found: Findings) -> Topic | None:
    table = tables.levels_table(found.metrics)
    if table is None:
        return None
    return _with_paper(
        found,
        Topic(
            "levels", "Level by level", paragraphs("levels", words=found.words),
            found.plot("levels"), "PSNR before and after at each level", (table,),
        ),
        levels.PAPER,
    )  # fmt: skip


def _noise(found: Findings) -> Topic | None:
    table = tables.noise_table(found.metrics)
    if table is None:
        return None
    return _with_paper(
        found,
        Topic(
            "noise", "With noise", paragraphs("noise", words=found.words), found.plot("noise"),
            "PSNR before and after at each strength of noise", (table,),
        ),
        noise.PAPER,
    )  # fmt: skip


def _training(found: Findings) -> Topic | None:
    plot = found.plot("training")
    if plot is None:
        return None
    text = paragraphs("training", epoch=found.card["epoch"])
    return Topic("training", "Training", text, plot, "Loss and validation PSNR by epoch")


def _cost(found: Findings) -> Topic:
    return Topic(
        "cost",
        "Cost",
        paragraphs("cost"),
        tables=(tables.cost_table(found.metrics),),
    )


def _scores(found: Findings) -> Topic | None:
    metrics = found.metrics
    table = find_paper_scores(metrics.task, metrics.protocol)
    if table is None:
        return None
    topic = Topic(
        "paper",
        "Compared with the paper",
        paragraphs("paper"),
        tables=(tables.scores_table(metrics, found.words),),
    )
    return _with_paper(found, topic, table, tasks=(metrics.task,))


def find_paper_scores(task: str, protocol: str) -> PaperTable | None:
    """Return the paper's first table of methods for a task, by this protocol if possible."""
    found = {
        study.evaluate.get("protocol"): study.paper
        for study in reversed(all_studies().values())
        if study.task == task and study.paper and study.paper.head[0] == "method"
    }
    return found.get(protocol, found.get(None))


def _with_paper(
    found: Findings, topic: Topic, table: PaperTable, tasks: tuple[str, ...] = ("deblur",)
) -> Topic:
    """Add the paper's table to a topic, if the paper has one for the task."""
    metrics = found.metrics
    if metrics.task not in tasks:
        return topic
    [ours] = topic.tables
    warning = ""
    if not is_comparable(table, metrics):
        dataset = dataset_title(metrics.dataset)
        warning = sentence("not_comparable", metrics=metrics, dataset=dataset, paper=table)
    both = tuple(tables_with_paper(ours, table, metrics))
    return replace(topic, tables=both, warning=warning, notes=table.notes)
