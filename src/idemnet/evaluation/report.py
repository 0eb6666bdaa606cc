"""The report of an evaluation: a page to look at, and its figures and tables as files."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from idemnet.evaluation.summary import summarise
from idemnet.recipes import Evaluation, TrainedModel

METRICS, PAGE = "metrics.json", "report.html"


def make_report(
    evaluation: Evaluation, trained: TrainedModel, others: Sequence[Mapping[str, Any]]
) -> dict[str, bytes]:
    """Give the report's files by name.

    Args:
        evaluation: What was measured.
        trained: Of it the card, and the history of its training.
        others: Earlier evaluations on the same data: `name`, `parameters` (flat, `train.times`) and
            `metrics`, each as its own report had them.
    """
    metrics = summarise(evaluation)
    return {
        METRICS: (json.dumps(metrics, indent=1, allow_nan=False) + "\n").encode(),
        PAGE: b"<!doctype html>",
    }
