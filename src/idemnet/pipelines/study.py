"""study_<name>: train and evaluate the cells of one of the paper's tables."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from kedro.pipeline import Pipeline, node

from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.study import StudyParameters
from idemnet.parameters.train import TrainParameters
from idemnet.pipelines.test_sets import create_test_set
from idemnet.steps import versions
from idemnet.steps.data import Pairs, Patches
from idemnet.steps.plan import Plan, Recipe, step
from idemnet.steps.services import StudyStores
from idemnet.steps.study import StudyResults
from idemnet.storage.executor import Job
from idemnet.studies import get_study
from idemnet.studies.parts.study import Study

NAME = "study"


@dataclass(frozen=True)
class Measurement:
    """Description of a study; its dataset runs it, since it knows where cells are kept."""

    name: str
    study: StudyParameters
    pairs: Pairs
    patches: Patches
    train: TrainParameters
    evaluate: EvaluateParameters

    def run(self, stores: StudyStores) -> Recipe:
        """Train and evaluate every cell with every seed; one that fails stops no other."""
        from idemnet.pipelines.cells import StudyRun  # noqa: PLC0415  # torch takes seconds

        chosen = get_study(self.name)
        run = StudyRun(
            chosen, self.study, self.pairs, self.patches, self.train, self.evaluate, stores
        )
        return tabulate(StudyResults(self.name, chosen.task, self.pairs.dataset, run.run()))


@dataclass(frozen=True)
class CellsOf:
    """A study's node; an object, because ParallelRunner could not name a partial."""

    name: str

    def measure(
        self,
        study: StudyParameters,
        pairs: Pairs,
        patches: Patches,
        train: TrainParameters,
        evaluate: EvaluateParameters,
    ) -> Measurement:
        """Describe the study: which cells to train and evaluate, on what."""
        return Measurement(self.name, study, pairs, patches, train, evaluate)


@step("tables", versions.TABLES)
def tabulate(results: StudyResults) -> Plan:
    """Plan a study's tables and figure."""
    return Plan([Job((NAME,), partial(_make, results))], {"study": results.name})


def _make(results: StudyResults, _: Collection[str]) -> Iterator[tuple[str, dict[str, bytes]]]:
    # Imported in the worker: matplotlib takes seconds.
    from idemnet.reporting.study import make_study_report  # noqa: PLC0415

    yield NAME, make_study_report(results)


def show_all(results: StudyResults, earlier: Mapping[str, StudyResults]) -> str:
    """Put every study that was run on one page."""
    from idemnet.reporting.study import render_studies  # noqa: PLC0415

    return render_studies({**earlier, results.name: results})


def create_study(study: Study) -> Pipeline:
    """Build a study's pipeline; it needs the task's prepared data."""
    task, name = study.task, study.name
    inputs = {
        "study": "params:study",
        "pairs": f"{study.test_set}_pairs" if study.test_set else f"{task}.pairs",
        "patches": f"{task}.patches",
        "train": f"params:{task}.train",
        "evaluate": f"params:{task}.evaluate",
    }
    output = f"{task}.study_{name}"
    steps = [
        node(CellsOf(name).measure, inputs, output, name=f"{task}.run_{name}", tags="study"),
        node(
            show_all, [output, "all_studies"], "studies_page", name="show_all_studies", tags="study"
        ),
    ]
    pipeline = Pipeline(steps)
    return create_test_set(study.test_set) + pipeline if study.test_set else pipeline
