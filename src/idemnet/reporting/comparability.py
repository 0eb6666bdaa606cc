"""Comparability of scores with other runs and with the paper's tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idemnet.parameters.renamed import with_new_names
from idemnet.parameters.train import ENVIRONMENT, LOGGED, WITHOUT_EFFECT
from idemnet.reporting.tables import Table
from idemnet.steps.metrics import Metrics
from idemnet.studies.parts.paper import IMAGES, WITH, WITHOUT, PaperTable

Flat = Mapping[str, Any]
CONSTRAINT = {"train.passes", "train.idempotence_weight", "train.alphas"}
MACHINE = {f"train.{name}" for name in ENVIRONMENT | WITHOUT_EFFECT | LOGGED | {"mixed_precision"}}
"""Settings of the machine, which do not affect what is learnt."""


@dataclass(frozen=True)
class Counterpart:
    """The run that differs in the constraint, and as little as possible otherwise."""

    name: str
    label: str
    metrics: Metrics
    differences: tuple[str, ...]
    """Differing settings other than the constraint."""


def is_constrained(settings: Flat) -> bool:
    """Return whether passes were trained to agree; False for imported weights."""
    passes, weight = settings.get("train.passes", 1), settings.get("train.idempotence_weight", 0)
    return bool(passes > 1 and weight > 0)


def label_of(settings: Flat) -> str:
    return WITH if is_constrained(settings) else WITHOUT


def find_counterpart(
    settings: Flat, metrics: Metrics, others: Sequence[Mapping[str, Any]]
) -> Counterpart | None:
    """Find the run with the other constraint setting: closest in settings, then the latest."""
    renamed = [
        {**other, "parameters": with_new_names(other["parameters"], "train.")} for other in others
    ]
    fitting = [
        other
        for other in renamed
        if _measured_alike(other["metrics"], metrics)
        and _is_counterpart(settings, other["parameters"])
    ]
    if not fitting:
        return None
    best = min(reversed(fitting), key=lambda one: len(_differences(settings, one["parameters"])))
    return Counterpart(
        str(best["name"]),
        label_of(best["parameters"]),
        best["metrics"],
        _differences(settings, best["parameters"]),
    )


def missing_run(settings: Flat, task: str, dataset: str) -> tuple[str, str]:
    """Return the label of the missing counterpart, and the command that makes it."""
    constrained = is_constrained(settings)
    passes, weight = ("1", "0") if constrained else ("2", "0.1")
    command = (
        f"kedro run{environment_option(dataset)} --pipeline=train_{task} "
        f"--params={task}.train.passes={passes},{task}.train.idempotence_weight={weight}"
    )
    return WITHOUT if constrained else WITH, command


def environment_option(dataset: str) -> str:
    """Return the --env of a data set's commands."""
    environment = {"gopro": "paper", "gopro_third": "gopro_third"}.get(dataset)
    return f" --env={environment}" if environment else ""


def is_comparable(paper: PaperTable, metrics: Metrics) -> bool:
    """Return whether scores were measured on the paper's images by the paper's protocol."""
    return (
        metrics.dataset,
        metrics.protocol,
    ) in paper.same_as and metrics.images == IMAGES


def tables_with_paper(ours: Table, paper: PaperTable, metrics: Metrics) -> list[Table]:
    """Return one merged table if scores are comparable, else two with their own captions."""
    if not is_comparable(paper, metrics):
        return [ours, Table(paper.head, paper.rows, paper.caption)]
    caption = f"{ours.caption}. {paper.caption}."
    if paper.head[0] == "method":
        own = tuple((f"measured here: {row[0]}", *row[1:]) for row in ours.rows)
        named = f" Measured here are {ours.head[2]} and {ours.head[-1]}."
        return [Table(paper.head, paper.rows + own, caption + named)]
    return [_join(ours, paper, caption)]


def _join(ours: Table, paper: PaperTable, caption: str) -> Table:
    """Join rows by key; cells that only one table has are left empty."""
    here = {row[0]: row[1:] for row in ours.rows}
    there = {row[0]: row[1:] for row in paper.rows}
    nothing_here, nothing_there = ("",) * (len(ours.head) - 1), ("",) * (len(paper.head) - 1)
    return Table(
        (
            ours.head[0],
            *(f"here: {name}" for name in ours.head[1:]),
            *(f"paper: {name}" for name in paper.head[1:]),
        ),
        tuple(
            (key, *here.get(key, nothing_here), *there.get(key, nothing_there))
            for key in dict.fromkeys([*here, *there])
        ),
        caption,
    )


def _measured_alike(one: Metrics, other: Metrics) -> bool:
    def measured(metrics: Metrics) -> tuple[str | int, ...]:
        repeat = metrics.repeat
        return (
            metrics.task, metrics.dataset, metrics.protocol, metrics.images, repeat.chain,
            repeat.images,
        )  # fmt: skip

    return measured(one) == measured(other)


def _is_counterpart(settings: Flat, other: Flat) -> bool:
    if is_constrained(settings):
        return bool(other["train.passes"] == 1)
    return is_constrained(other)


def _differences(settings: Flat, other: Flat) -> tuple[str, ...]:
    names = dict.fromkeys([*settings, *other])
    return tuple(
        f"{name.removeprefix('train.')} {_plain(other.get(name))} instead of "
        f"{_plain(settings.get(name))}"
        for name in names
        if name not in CONSTRAINT | MACHINE
        and _plain(settings.get(name)) != _plain(other.get(name))
    )


def _plain(value: Any) -> str:
    """Format a value so that it compares equal after a round trip through JSON or MLflow."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)
