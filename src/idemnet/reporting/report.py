"""Report of an evaluation: a page, plots and tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from idemnet.evaluation.metrics import summarise
from idemnet.inference.weights import TrainedModel
from idemnet.reporting import tables
from idemnet.reporting.comparability import find_counterpart, label_of
from idemnet.reporting.findings import Findings
from idemnet.reporting.formatting import task_words
from idemnet.reporting.page import render_page
from idemnet.reporting.plots import draw_plots
from idemnet.reporting.samples import show_samples
from idemnet.steps.data import Evaluation
from idemnet.steps.plan import flatten

PAGE = "report.html"


def make_report(
    evaluation: Evaluation, trained: TrainedModel, others: Sequence[Mapping[str, Any]]
) -> dict[str, bytes]:
    """Return the report's files by name; the same evaluation gives the same bytes.

    Args:
        evaluation: Results of the evaluation.
        trained: The weights' card and training history.
        others: Earlier evaluations on the same data: `name`, `parameters` (flat, `train.passes`)
            and `metrics` of each.
    """
    metrics, rows = summarise(evaluation), evaluation.rows
    words = task_words(metrics.task)
    settings = dict(flatten(trained.card["training"], "train."))
    other = find_counterpart(settings, metrics, others)
    curves = {label_of(settings): metrics.repeat}
    if other:
        curves[other.label] = other.metrics.repeat
    plots = draw_plots(metrics, rows, trained.history, curves, words)
    samples = show_samples(evaluation.samples, rows, words)
    findings = Findings(
        metrics, rows, trained.card, settings, other, curves, plots, samples, words,
        samples_kept=len(evaluation.samples),
    )  # fmt: skip
    return {
        **metrics.to_files(),
        PAGE: render_page(findings).encode(),
        "images.csv": tables.images_csv(rows),
        "repeat.csv": tables.repeat_csv(metrics),
        "training.csv": tables.training_csv(trained.history),
        **plots,
    }
