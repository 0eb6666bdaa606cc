"""The page's topics: each a few sentences, a plot, and tables with the paper's beside them."""

from dataclasses import dataclass, replace

from idemnet.reporting import paper, tables
from idemnet.reporting import words as say
from idemnet.reporting.beside import beside, label_of, may_stand_beside, missing_run
from idemnet.reporting.findings import Findings
from idemnet.reporting.paper import PaperTable
from idemnet.reporting.tables import Table


@dataclass(frozen=True)
class Topic:
    """A part of the page."""

    name: str
    title: str
    text: tuple[str, ...]
    plot: str | None = None
    """As a data URI."""
    plot_says: str = ""
    """For those who cannot see it."""
    tables: tuple[Table, ...] = ()
    warning: str = ""
    """What the tables must not be taken for."""
    notes: tuple[str, ...] = ()
    command: str = ""


def topics_of(found: Findings) -> list[Topic]:
    """Return the topics that there are figures for, in the page's order."""
    topics = (
        _gains(found), _repeat(found), _iterations(found), _levels(found), _noise(found),
        _training(found), _cost(found), _scores(found),
    )  # fmt: skip
    return [topic for topic in topics if topic]


def _gains(found: Findings) -> Topic:
    better = sum(tables.gain(row) > 0 for row in found.rows)
    return Topic(
        "gains",
        "Image by image",
        (
            "A mean hides who paid for it. Each dot is one test image, from the one that gained "
            f"least to the one that gained most; {better:,} of "
            f"{say.count(len(found.rows), 'image')} gained. All are in images.csv.",
        ),
        found.plot("gains"),
        "Gain of each image in dB, sorted",
        (tables.extremes_table(found.rows),),
    )


def _repeat(found: Findings) -> Topic:
    metrics, settings = found.metrics, found.settings
    text = [
        "The repeat curve: the restored image is restored again, and again. An idempotent network "
        f"draws a level line. This run was trained {label_of(settings)}."
    ]
    command = ""
    if found.other:
        text.append(
            f"The other curve is run {found.other.name}, trained {found.other.label} on the same "
            "data" + _also_different(found.other.differences)
        )
    else:
        label, command = missing_run(settings, metrics["task"], metrics["dataset"])
        text.append(f"There is no run {label} on this data to compare with yet. To get one:")
    return _with_paper(
        found,
        Topic(
            "repeat", "Restored again and again", tuple(text), found.plot("repeat"),
            "PSNR after each pass", (tables.repeat_table(metrics, found.curves),), command=command,
        ),
        paper.REPEAT,
    )  # fmt: skip


def _iterations(found: Findings) -> Topic:
    return _with_paper(
        found,
        Topic(
            "iterations",
            "Iteration by iteration",
            (
                "Inside one restoration the network corrects the image a few times. “Every” is how "
                "much an iteration changes pixels on average (of 255), “sum” how far the image is "
                "from the input by then. In a second pass both should stay near zero.",
            ),
            found.plot("iterations"),
            "PSNR after each iteration, and the change of pixels in it, for two passes",
            (tables.iterations_table(found.metrics),),
        ),
        paper.ITERATIONS,
    )


def _levels(found: Findings) -> Topic | None:
    table = tables.levels_table(found.metrics)
    if table is None:
        return None
    text = (
        f"What a level counts is: {found.words.level}. The higher it is, the stronger the images "
        f"are {found.words.degraded}."
    )
    return _with_paper(
        found,
        Topic(
            "levels", "Level by level", (text,), found.plot("levels"),
            "PSNR before and after at each level", (table,),
        ),
        paper.LEVELS,
    )  # fmt: skip


def _noise(found: Findings) -> Topic | None:
    table = tables.noise_table(found.metrics)
    if table is None:
        return None
    text = (
        f"Gaussian noise is added to the {found.words.degraded} image before it is restored; its "
        "standard deviation is given on the scale of 0 to 255."
    )
    return _with_paper(
        found,
        Topic(
            "noise", "With noise", (text,), found.plot("noise"),
            "PSNR before and after at each strength of noise", (table,),
        ),
        paper.NOISE,
    )  # fmt: skip


def _training(found: Findings) -> Topic | None:
    plot = found.plot("training")
    if plot is None:
        return None
    text = (
        f"The weights are those of epoch {found.card['epoch']}, counted from 0: the best on "
        "validation images, which are not test images. All epochs are in training.csv."
    )
    return Topic("training", "Training", (text,), plot, "Loss and validation PSNR by epoch")


def _cost(found: Findings) -> Topic:
    return Topic(
        "cost",
        "Cost",
        (
            "Time is the median of whole restorations, each waited for until the device had "
            "finished. MACs are counted, not measured: they hold for any device.",
        ),
        tables=(tables.cost_table(found.metrics),),
    )


def _scores(found: Findings) -> Topic | None:
    metrics = found.metrics
    table = paper.paper_scores(metrics["task"], metrics["protocol"])
    if table is None:
        return None
    topic = Topic(
        "paper",
        "Beside the paper",
        ("The paper is “Deep Idempotent Network for Efficient Single Image Blind Deblurring”.",),
        tables=(tables.scores_table(metrics, found.words),),
    )
    return _with_paper(found, topic, table, tasks=(metrics["task"],))


def _with_paper(
    found: Findings, topic: Topic, table: PaperTable, tasks: tuple[str, ...] = ("deblur",)
) -> Topic:
    """Set the paper's table beside a topic's; of other tasks the paper has no such table."""
    metrics = found.metrics
    if metrics["task"] not in tasks:
        return topic
    [ours] = topic.tables
    warning = ""
    if not may_stand_beside(table, metrics):
        warning = (
            f"Two different measurements: ours on {say.name_of(metrics['dataset'])} "
            f"({metrics['device']}), the paper's on {table.data}. Their rows cannot be compared."
        )
    both = tuple(beside(ours, table, metrics))
    return replace(topic, tables=both, warning=warning, notes=table.notes)


def _also_different(differences: tuple[str, ...]) -> str:
    if not differences:
        return ", with the same settings otherwise."
    return f". It differs in more than the constraint: {'; '.join(differences)}."
