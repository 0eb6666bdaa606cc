"""report: a page, plots and tables."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from idemnet.inference.weights import TrainedModel
from idemnet.steps import versions
from idemnet.steps.data import Evaluation
from idemnet.steps.plan import Plan, Recipe, step
from idemnet.steps.services import Tracker
from idemnet.storage.executor import Job

NAME = "report"


@dataclass(frozen=True)
class OtherRuns:
    """The latest scores of other trainings on the same data."""

    evaluations: Sequence[Mapping[str, Any]]

    @property
    def fingerprint(self) -> str:
        return " ".join(evaluation["fingerprint"] for evaluation in self.evaluations)


def report(evaluation: Evaluation, trained: TrainedModel, runs: Tracker) -> Recipe:
    """Report on an evaluation, with the scores of other runs on the same data."""
    others = OtherRuns(runs.evaluations(except_for=trained.card["fingerprint"]))
    return plan_report(evaluation, trained, others)


@step("report", versions.REPORT)
def plan_report(evaluation: Evaluation, trained: TrainedModel, others: OtherRuns) -> Plan:
    """Plan a report."""
    # The report does not need the tensors, so they are not sent to the worker.
    shown = TrainedModel({}, trained.card, trained.history)
    job = partial(_make, evaluation, shown, others.evaluations)
    return Plan([Job((NAME,), job)], {"run": trained.card["fingerprint"]})


def _make(
    evaluation: Evaluation,
    trained: TrainedModel,
    others: Sequence[Mapping[str, Any]],
    _: Collection[str],
) -> Iterator[tuple[str, dict[str, bytes]]]:
    # Imported in the worker: matplotlib would slow down commands that only list pipelines.
    from idemnet.reporting.report import make_report  # noqa: PLC0415

    yield NAME, make_report(evaluation, trained, others)
