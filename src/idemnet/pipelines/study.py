"""study_<name>: the cells of one of the paper's tables, trained, tried and set beside it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial, update_wrapper

from kedro.pipeline import Pipeline, node

from idemnet.errors import BadInputError
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.study import StudyParameters
from idemnet.parameters.train import TrainParameters
from idemnet.pipelines.download import download
from idemnet.steps import versions
from idemnet.steps.data import Pairs, Patches, RawData
from idemnet.steps.pairs import plan_ready_pairs
from idemnet.steps.plan import Plan, Recipe, fingerprint
from idemnet.steps.services import CheckpointStore, EvaluationStore, Tracker
from idemnet.steps.study import StudyResults
from idemnet.storage.executor import Job

NAME = "study"


def run_study(
    *,
    study: StudyParameters,
    pairs: Pairs,
    patches: Patches,
    train: TrainParameters,
    evaluate: EvaluateParameters,
    checkpoints: CheckpointStore,
    tracker: Tracker,
    evaluations: EvaluationStore,
    recorder: Tracker,
    name: str,
    task: str,
) -> StudyResults:
    """Train and evaluate every cell with every seed; one that fails does not stop the others."""
    from idemnet.pipelines.cells import Study  # noqa: PLC0415  # torch takes seconds

    cells = Study(
        name, task, study, pairs, patches, train, evaluate, checkpoints, tracker, evaluations,
        recorder,
    )  # fmt: skip
    return StudyResults(name, task, pairs.dataset, cells.run())


@dataclass(frozen=True)
class TablesJob:
    """Draws a study's tables and figure, in a worker that has matplotlib."""

    results: StudyResults

    def make(self, _: Collection[str]) -> Iterator[tuple[str, dict[str, bytes]]]:
        from idemnet.reporting.studies.report import make_study_report  # noqa: PLC0415

        yield NAME, make_study_report(self.results)


def tabulate(results: StudyResults) -> Recipe:
    """Describe a study's tables and figure."""
    job = TablesJob(results)
    return Recipe(
        fingerprint("tables", versions.TABLES, asdict(results)),
        lambda: Plan([Job((NAME,), job.make)], {"study": results.name}),
    )


def show_all(_: StudyResults, studies: Mapping[str, StudyResults]) -> str:
    """Put every study that was run on one page."""
    from idemnet.reporting.studies.report import render_studies  # noqa: PLC0415

    return render_studies(studies)


def check(results: StudyResults, _: str) -> None:
    """End with an error if a cell failed, after everything else was shown.

    Raises:
        BadInputError: Naming the cells that failed.
    """
    failed = [outcome for outcome in results.outcomes if outcome.metrics is None]
    if failed:
        names = ", ".join(f"{outcome.cell} (seed {outcome.seed})" for outcome in failed)
        raise BadInputError(
            f"{len(failed)} of {len(results.outcomes)} cells failed: {names}; the same command "
            "tries them again"
        )


def ready_pairs(raw: RawData) -> Recipe:
    """Point at the pairs of a data set that is only for tests."""
    return Recipe(
        fingerprint("ready pairs", versions.READY_PAIRS, raw.fingerprint),
        partial(plan_ready_pairs, raw),
    )


def create_realblur() -> Pipeline:
    """Build the steps that look at RealBlur's pairs, wherever they are."""
    return Pipeline(
        [
            node(download, ["params:realblur", "sources"], "realblur_raw", name="find_realblur"),
            node(ready_pairs, "realblur_raw", "realblur_pairs", name="pair_realblur"),
        ]
    )


def create_study(name: str, task: str, pairs: str = "pairs") -> Pipeline:
    """Build a study's pipeline; the data must be prepared, by the nodes before it.

    Args:
        name: Of the study.
        task: Whose trainings its cells are.
        pairs: What they are tried on: the task's own pairs, or other ones.
    """
    run = update_wrapper(partial(run_study, name=name, task=task), run_study)
    inputs = {
        "study": "params:study",
        "pairs": pairs,
        **{one: one for one in ("patches", "checkpoints", "tracker")},
        **{one: f"params:{one}" for one in ("train", "evaluate")},
        "evaluations": "study_evaluations",
        "recorder": "study_recorder",
    }
    results, tables = f"{name}_results", f"study_{name}_tables"
    steps = [
        node(run, inputs, results, name=f"run_{name}"),
        node(tabulate, results, tables, name=f"tabulate_{name}"),
        node(show_all, [tables, "all_studies"], "studies_page", name="show_all_studies"),
        node(check, [results, "studies_page"], None, name=f"check_{name}"),
    ]
    return Pipeline(
        [step.tag("study") for step in steps],
        namespace=task,
        inputs={"study_evaluations", "study_recorder", "all_studies"} | {pairs} - {"pairs"},
        outputs={tables, "studies_page"},
        parameters={"params:study"},
    )
