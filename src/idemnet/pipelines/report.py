"""report: a page, figures and tables; and the run's figures in MLflow."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idemnet.inference.weights import TrainedModel
from idemnet.steps import versions
from idemnet.steps.data import Evaluation, Report
from idemnet.steps.plan import Plan, Recipe, fingerprint
from idemnet.steps.services import Tracker
from idemnet.storage.executor import Job

NAME = "report"


@dataclass(frozen=True)
class ReportJob:
    """Everything a report is made of."""

    evaluation: Evaluation
    trained: TrainedModel
    others: Sequence[Mapping[str, Any]]

    def make(self, _: Collection[str]) -> Iterator[tuple[str, dict[str, bytes]]]:
        # Here, in the worker: matplotlib would slow every command that only names the pipelines.
        from idemnet.reporting.report import make_report  # noqa: PLC0415

        yield NAME, make_report(self.evaluation, self.trained, self.others)


def report(evaluation: Evaluation, trained: TrainedModel, tracker: Tracker) -> Recipe:
    """Describe the report on an evaluation, beside what other runs on the same data gave."""
    card = trained.card
    others = tracker.evaluations(except_for=card["fingerprint"])
    # The weights themselves are not shown, and are not sent to the worker.
    job = ReportJob(evaluation, TrainedModel({}, card, trained.history), others)
    parts = {"card": card["sha256"], "others": [other["fingerprint"] for other in others]}
    return Recipe(
        fingerprint("report", versions.REPORT, evaluation.fingerprint, parts),
        lambda: Plan([Job((NAME,), job.make)], {"run": card["fingerprint"]}),
    )


def record(report: Report, tracker: Tracker) -> None:
    """Add the figures and the page to the training's run, unless they are there."""
    tracker.evaluated(report)
