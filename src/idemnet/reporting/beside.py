"""What a figure may be set beside: another run on the same data, or a table of the paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idemnet.reporting.paper import WITH, WITHOUT, PaperTable
from idemnet.reporting.tables import Table

Flat = Mapping[str, Any]
CONSTRAINT = {"train.times", "train.idempotence_weight", "train.alphas"}
MACHINE = {
    f"train.{name}"
    for name in (
        "device", "threads", "workers", "processes", "nodes", "rendezvous", "rendezvous_minutes",
        "compile", "accumulate", "mixed_precision", "deterministic", "checkpoint_steps",
        "checkpoint_minutes", "time_limit_minutes", "checkpoint_iterations",
    )
}  # fmt: skip
"""Settings that say where a training ran, not what it learnt."""
PAPER_IMAGES = 1111


@dataclass(frozen=True)
class OtherRun:
    """A run to compare with: the same but for the constraint, as far as there is one."""

    name: str
    label: str
    metrics: Mapping[str, Any]
    differences: tuple[str, ...]
    """Settings beside the constraint in which it differs."""


def is_constrained(settings: Flat) -> bool:
    """Return whether a training asked its passes to agree; of imported weights nothing is known."""
    times, weight = settings.get("train.times", 1), settings.get("train.idempotence_weight", 0)
    return bool(times > 1 and weight > 0)


def label_of(settings: Flat) -> str:
    return WITH if is_constrained(settings) else WITHOUT


def choose_other(
    settings: Flat, metrics: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> OtherRun | None:
    """Find the run that shows what the constraint does: closest in settings, of those the last."""
    fitting = [
        other
        for other in others
        if _was_measured_alike(other["metrics"], metrics)
        and _is_counterpart(settings, other["parameters"])
    ]
    if not fitting:
        return None
    best = min(reversed(fitting), key=lambda one: len(_differences(settings, one["parameters"])))
    return OtherRun(
        str(best["name"]),
        label_of(best["parameters"]),
        best["metrics"],
        _differences(settings, best["parameters"]),
    )


def missing_run(settings: Flat, task: str, dataset: str) -> tuple[str, str]:
    """Name the run that is missing for a comparison, and the command that makes it."""
    constrained = is_constrained(settings)
    times, weight = ("1", "0") if constrained else ("2", "0.1")
    environment = " --env=paper" if dataset == "gopro" else ""
    command = (
        f"kedro run{environment} --pipeline=train_{task} "
        f"--params={task}.train.times={times},{task}.train.idempotence_weight={weight}"
    )
    return WITHOUT if constrained else WITH, command


def may_stand_beside(paper: PaperTable, metrics: Mapping[str, Any]) -> bool:
    """Whether figures were measured on the paper's images by the paper's protocol."""
    return (
        metrics["dataset"],
        metrics["protocol"],
    ) in paper.same_as and metrics["images"] == PAPER_IMAGES


def beside(ours: Table, paper: PaperTable, metrics: Mapping[str, Any]) -> list[Table]:
    """Return one table if rows may be compared, else two that say what each was measured on."""
    if not may_stand_beside(paper, metrics):
        return [ours, Table(paper.table.head, paper.table.rows, paper.caption)]
    caption = f"{ours.caption}. {paper.caption}."
    if paper.table.head[0] == "method":
        own = tuple((f"measured here: {row[0]}", *row[1:]) for row in ours.rows)
        named = f" Measured here are {ours.head[2]} and {ours.head[-1]}."
        return [Table(paper.table.head, paper.table.rows + own, caption + named)]
    return [_join(ours, paper.table, caption)]


def _join(ours: Table, paper: Table, caption: str) -> Table:
    """Put rows of the same key side by side; what only one of them has is left empty."""
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


def _was_measured_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    names = ("task", "dataset", "protocol", "images")
    return all(one[name] == other[name] for name in names) and all(
        one["repeat"][name] == other["repeat"][name] for name in ("chain", "images")
    )


def _is_counterpart(settings: Flat, other: Flat) -> bool:
    if is_constrained(settings):
        return bool(other["train.times"] == 1)
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
    """Write a value so that what went through JSON or MLflow equals what did not."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)
