"""study_<name>: the cells of one of the paper's tables, trained, tried and set beside it."""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial, update_wrapper
from typing import Any

import torch
from kedro.pipeline import Pipeline, node

from idemnet.errors import BadInputError
from idemnet.evaluation.summary import summarise
from idemnet.models.device import to_image, to_tensor
from idemnet.models.network import Network
from idemnet.parameters import EvaluateParameters, TrainParameters
from idemnet.pipelines.evaluate import evaluate
from idemnet.pipelines.train import train
from idemnet.recipes import (
    CheckpointStore,
    EvaluationStore,
    Image,
    Job,
    Outcome,
    Pairs,
    Patches,
    Plan,
    Recipe,
    Report,
    StoredImage,
    StudyResults,
    Tracker,
    TrainedModel,
    fingerprint,
    flatten,
)
from idemnet.studies import StudyParameters

logger = logging.getLogger(__name__)

VERSION = 1
NAME = "study"


@dataclass(frozen=True)
class Study:
    """A study with all that its cells are trained and tried with."""

    name: str
    task: str
    parameters: StudyParameters
    pairs: Pairs
    patches: Patches
    train: TrainParameters
    evaluate: EvaluateParameters
    checkpoints: CheckpointStore
    tracker: Tracker
    evaluations: EvaluationStore

    def measure(self, cell: str, seed: int) -> tuple[TrainedModel, str, dict[str, Any]]:
        """Train a cell, or find that it is done; give its weights, and how they score."""
        after = self.parameters.cells[cell].after
        pairs = (
            self.pairs if after is None else restored_pairs(self.pairs, self._train(after, seed))
        )
        trained = self._train(cell, seed)
        settings = self.parameters.evaluation(self.name, self.evaluate)
        evaluation = self.evaluations.make(evaluate(pairs, trained, settings, task=self.task))
        return trained, evaluation.fingerprint, summarise(evaluation)

    def _train(self, cell: str, seed: int) -> TrainedModel:
        path = self.parameters.cells[cell].weights
        if path is not None:
            weights, card = self.checkpoints.initial_weights(path)
            return TrainedModel(weights, card, [])
        settings = self.parameters.training(self.name, cell, seed, self.train)
        return train(self.patches, settings, self.checkpoints, self.tracker, task=self.task)

    @cached_property
    def fingerprint(self) -> str:
        """Of the study as a whole: what it runs on, and its cells."""
        parts = {"name": self.name, "patches": self.patches.fingerprint}
        return fingerprint(NAME, VERSION, self.parameters, self.train, self.evaluate, parts)


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
    here = Study(
        name, task, study, pairs, patches, train, evaluate, checkpoints, tracker, evaluations
    )
    with recorder.run(here.fingerprint) as journal:
        journal.start(f"study-{name}", study.model_dump(exclude={"cells", "studies"}), {})
        parent = journal.id
    # Seed by seed, so that a whole table is there as early as possible.
    todo = [(cell, seed) for seed in range(study.seeds) for cell in study.studies[name].cells]
    outcomes = []
    for number, (cell, seed) in enumerate(todo, 1):
        logger.info("study %s: %s, seed %d (%d of %d)", name, cell, seed, number, len(todo))
        outcomes.append(_run_cell(here, recorder, parent, cell, seed))
    return StudyResults(name, task, pairs.dataset, outcomes)


def _run_cell(study: Study, recorder: Tracker, parent: str, cell: str, seed: int) -> Outcome:
    about = study.parameters.cells[cell]
    outcome = Outcome(cell, about.label, seed, about.after)
    child = fingerprint("cell", VERSION, study.fingerprint, {"cell": cell, "seed": seed})
    tags = {"parent": parent, "study": study.name, "cell": cell}
    try:
        trained, measured, metrics = study.measure(cell, seed)
    except Exception as error:  # whatever it is, the other cells have a right to be run
        failure = f"{type(error).__name__}: {error}"
        logger.exception("study %s: %s, seed %d failed", study.name, cell, seed)
        _record_failure(recorder, child, f"{cell}-{seed}", tags, error)
        return replace(outcome, failure=failure)
    settings = dict(flatten(trained.card["training"], "train."))
    with recorder.run(child) as journal:
        journal.start(f"{cell}-{seed}", settings, {**tags, "training": trained.card["fingerprint"]})
        journal.finish({}, {})
        journal.evaluated(measured, metrics, {})
    return replace(outcome, settings=settings, metrics=metrics)


def _record_failure(
    recorder: Tracker, child: str, name: str, tags: Mapping[str, str], error: Exception
) -> None:
    try:
        with recorder.run(child) as journal:
            journal.start(name, {}, tags)
            raise error
    except type(error):
        pass


def restored_pairs(pairs: Pairs, trained: TrainedModel) -> Pairs:
    """Give the test pairs, but with degraded images that a network has restored, as if saved."""
    restore = Restore(Network.of(trained))
    return replace(
        pairs,
        fingerprint=fingerprint("restored", VERSION, pairs.fingerprint, trained.card["sha256"]),
        pairs=[
            replace(pair, degraded=RestoredImage(pair.degraded, restore))
            for pair in pairs.pairs
            if pair.split == "test"
        ],
    )


@dataclass(frozen=True)
class Restore:
    """Restores images, with a network that is built when the first one comes."""

    network: Network

    def __call__(self, image: Image) -> Image:
        with torch.inference_mode():
            return to_image(self._model(to_tensor([image], "cpu"))[0])

    @cached_property
    def _model(self) -> torch.nn.Module:
        return self.network.build("cpu")


@dataclass(frozen=True)
class RestoredImage:
    """An image restored when it is asked for, rounded to 8 bits as in a file."""

    image: StoredImage
    restore: Restore

    def __call__(self) -> Image:
        return self.restore(self.image())

    @property
    def name(self) -> str:
        return self.image.name

    def size(self) -> tuple[int, int]:
        return self.image.size()


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
        fingerprint("tables", VERSION, asdict(results)),
        lambda: Plan([Job((NAME,), job.make)], {"study": results.name}),
    )


def show_all(_: Report, studies: Mapping[str, StudyResults]) -> str:
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


def create_study(name: str, task: str) -> Pipeline:
    """Build a study's pipeline; its task's data must be prepared, by the nodes before it."""
    run = update_wrapper(partial(run_study, name=name, task=task), run_study)
    inputs = {
        "study": "params:study",
        **{one: one for one in ("pairs", "patches", "checkpoints", "tracker")},
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
        inputs={"study_evaluations", "study_recorder", "all_studies"},
        outputs={tables, "studies_page"},
        parameters={"params:study"},
    )
