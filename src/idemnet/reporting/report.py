"""The report of an evaluation: a page to look at, and its figures and tables as files."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from idemnet.evaluation.metrics import summarise
from idemnet.inference.weights import TrainedModel
from idemnet.reporting import tables
from idemnet.reporting.beside import choose_other, label_of
from idemnet.reporting.findings import Findings
from idemnet.reporting.page import render_page
from idemnet.reporting.plots import draw_plots
from idemnet.reporting.samples import show_samples
from idemnet.reporting.words import words_of
from idemnet.steps.data import Evaluation
from idemnet.steps.plan import flatten

METRICS, TIMING, PAGE = "metrics.json", "timing.json", "report.html"
TIMED = ("seconds", "peak_memory_mb", "device_name")
"""What of the cost differs from run to run, or between machines: kept out of metrics.json."""


def make_report(
    evaluation: Evaluation, trained: TrainedModel, others: Sequence[Mapping[str, Any]]
) -> dict[str, bytes]:
    """Return the report's files by name; the same evaluation gives the same bytes.

    Args:
        evaluation: What was measured.
        trained: Of it the card, and the history of its training.
        others: Earlier evaluations on the same data: `name`, `parameters` (flat, `train.times`) and
            `metrics`, each as its own report had them.
    """
    metrics, rows = summarise(evaluation), evaluation.rows
    words = words_of(metrics["task"])
    settings = dict(flatten(trained.card["training"], "train."))
    other = choose_other(settings, metrics, others)
    curves = {label_of(settings): metrics["repeat"]}
    if other:
        curves[other.label] = other.metrics["repeat"]
    plots = draw_plots(metrics, rows, trained.history, curves, words)
    samples = show_samples(evaluation.samples, rows, words)
    findings = Findings(
        metrics, rows, trained.card, settings, other, curves, plots, samples, words,
        samples_kept=len(evaluation.samples),
    )  # fmt: skip
    cost = metrics["cost"]
    counted = {name: value for name, value in cost.items() if name not in TIMED}
    return {
        METRICS: _json({**metrics, "cost": counted}),
        TIMING: _json({name: cost[name] for name in TIMED}),
        PAGE: render_page(findings).encode(),
        "images.csv": tables.images_csv(rows),
        "repeat.csv": tables.repeat_csv(metrics),
        "training.csv": tables.training_csv(trained.history),
        **plots,
    }


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()
