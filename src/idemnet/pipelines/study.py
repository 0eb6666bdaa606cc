"""study_<name>: train and evaluate the cells of one of the paper's tables."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, update_wrapper

from kedro.pipeline import Pipeline, node

from idemnet.errors import BadInputError
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.study import StudyParameters
from idemnet.parameters.train import TrainParameters
from idemnet.pipelines.test_sets import create_test_set
from idemnet.steps import versions
from idemnet.steps.data import Pairs, Patches
from idemnet.steps.plan import Plan, Recipe, fingerprint
from idemnet.steps.services import CheckpointStore, EvaluationStore, Tracker
from idemnet.steps.study import STORED, StudyResults
from idemnet.storage.executor import Job
from idemnet.studies import get_study
from idemnet.studies.parts.study import Study

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
) -> StudyResults:
    """Train and evaluate every cell with every seed; one that fails does not stop the others."""
    from idemnet.pipelines.cells import StudyRun  # noqa: PLC0415  # torch takes seconds

    chosen = get_study(name)
    run = StudyRun(
        chosen, study, pairs, patches, train, evaluate, checkpoints, tracker, evaluations, recorder
    )
    return StudyResults(name, chosen.task, pairs.dataset, run.run())


@dataclass(frozen=True)
class TablesJob:
    """Draws a study's tables and figure in a worker, which imports matplotlib."""

    results: StudyResults

    def make(self, _: Collection[str]) -> Iterator[tuple[str, dict[str, bytes]]]:
        from idemnet.reporting.study import make_study_report  # noqa: PLC0415

        yield NAME, make_study_report(self.results)


def tabulate(results: StudyResults) -> Recipe:
    """Describe a study's tables and figure."""
    job = TablesJob(results)
    return Recipe(
        fingerprint("tables", versions.TABLES, STORED.dump_python(results)),
        lambda: Plan([Job((NAME,), job.make)], {"study": results.name}),
    )


def show_all(results: StudyResults, earlier: Mapping[str, StudyResults]) -> str:
    """Put every study that was run on one page."""
    from idemnet.reporting.study import render_studies  # noqa: PLC0415

    return render_studies({**earlier, results.name: results})


def check(results: StudyResults, _: str) -> None:
    """Raise an error if a cell failed, after all results are published.

    Raises:
        BadInputError: Naming the cells that failed.
    """
    failed = [outcome for outcome in results.outcomes if outcome.metrics is None]
    if failed:
        names = ", ".join(f"{outcome.cell} (seed {outcome.seed})" for outcome in failed)
        raise BadInputError(
            f"{len(failed)} of {len(results.outcomes)} cells failed: {names}; run the same "
            "command to retry them"
        )


def create_study(study: Study) -> Pipeline:
    """Build a study's pipeline; it needs the task's prepared data."""
    name, pairs = study.name, f"{study.test_set}_pairs" if study.test_set else "pairs"
    run = update_wrapper(partial(run_study, name=name), run_study)
    inputs = {
        "study": "params:study",
        "pairs": pairs,
        **{one: one for one in ("patches", "checkpoints")},
        "tracker": "runs",
        **{one: f"params:{one}" for one in ("train", "evaluate")},
        "evaluations": "study_evaluations",
        "recorder": "study_recorder",
    }
    results, tables = f"{name}_results", f"study_{name}_tables"
    steps = [
        node(run, inputs, results, name=f"run_{name}"),
        node(tabulate, results, tables, name=f"tabulate_{name}"),
        node(show_all, [results, "all_studies"], "studies_page", name="show_all_studies"),
        node(check, [results, "studies_page"], None, name=f"check_{name}"),
    ]
    pipeline = Pipeline(
        [step.tag("study") for step in steps],
        namespace=study.task,
        inputs={"study_evaluations", "study_recorder", "all_studies"} | {pairs} - {"pairs"},
        outputs={tables, "studies_page"},
        parameters={"params:study"},
    )
    return create_test_set(study.test_set) + pipeline if study.test_set else pipeline
