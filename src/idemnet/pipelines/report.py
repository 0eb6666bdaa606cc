"""report: a page, plots and tables."""

from collections.abc import Collection, Iterator
from functools import partial

from idemnet.inference.weights import TrainedModel
from idemnet.steps import versions
from idemnet.steps.data import Evaluation, OtherRuns
from idemnet.steps.plan import Plan, step
from idemnet.storage.executor import Job

NAME = "report"


@step("report", versions.REPORT)
def report(evaluation: Evaluation, trained: TrainedModel, others: OtherRuns) -> Plan:
    """Report on an evaluation, with the scores of other trainings on the same data."""
    # The report does not need the tensors, so they are not sent to the worker.
    shown = TrainedModel({}, trained.card, trained.history)
    job = partial(_make, evaluation, shown, others)
    return Plan([Job((NAME,), job)], {"run": trained.card["fingerprint"]})


def _make(
    evaluation: Evaluation,
    trained: TrainedModel,
    others: OtherRuns,
    _: Collection[str],
) -> Iterator[tuple[str, dict[str, bytes]]]:
    # Imported in the worker: matplotlib would slow down commands that only list pipelines.
    from idemnet.reporting.report import make_report  # noqa: PLC0415

    yield NAME, make_report(evaluation, trained, others.evaluations)
