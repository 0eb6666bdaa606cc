"""The cells of a study: what each is trained and tried with, and how one is run."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from idemnet.errors import BadInputError
from idemnet.evaluation.metrics import summarise
from idemnet.inference.weights import TrainedModel
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.study import StudyParameters
from idemnet.parameters.train import TrainParameters
from idemnet.pipelines.evaluate import evaluate
from idemnet.pipelines.given import one_sequence, restored_pairs, single_channel_pairs
from idemnet.pipelines.train import train
from idemnet.steps import versions
from idemnet.steps.data import Evaluation, Pairs, Patches
from idemnet.steps.plan import fingerprint, flatten
from idemnet.steps.services import CheckpointStore, EvaluationStore, Tracker
from idemnet.steps.study import Outcome
from idemnet.training.concurrent import train_side_by_side
from idemnet.training.job import TrainingJob

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """A cell with one seed, on all test images or on one sequence of them."""

    cell: str
    seed: int
    sequence: str

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.cell, self.sequence, str(self.seed))))


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
    recorder: Tracker

    @cached_property
    def fingerprint(self) -> str:
        """Of the study as a whole: what it runs on, and its cells."""
        parts = {"name": self.name, "patches": self.patches.fingerprint}
        return fingerprint(
            "study", versions.STUDY, self.parameters, self.train, self.evaluate, parts
        )

    @cached_property
    def trials(self) -> list[Trial]:
        """Seed by seed, so that a whole table is there as early as possible."""
        chosen, sequences = self.parameters.studies[self.name], [""]
        if chosen.sequences_apart:
            sequences = sorted({one.sequence for one in self.pairs.pairs if one.split == "test"})
        return [
            Trial(cell, seed, sequence)
            for seed in range(self.parameters.seeds)
            for cell in chosen.cells
            for sequence in sequences
        ]

    def run(self) -> list[Outcome]:
        """Run every trial; one that fails does not stop the others."""
        with self.recorder.run(self.fingerprint) as journal:
            settings = self.parameters.model_dump(exclude={"cells", "studies"})
            journal.start(f"study-{self.name}", settings, {"study": self.name})
            parent = journal.id
        train_side_by_side(self._trainings())
        outcomes = []
        for number, trial in enumerate(self.trials, 1):
            logger.info("study %s: %s (%d of %d)", self.name, trial.name, number, len(self.trials))
            outcomes.append(self._run(trial, parent))
        failed = sum(outcome.metrics is None for outcome in outcomes)
        with self.recorder.run(self.fingerprint) as journal:
            journal.finish({"cells": len(outcomes), "failed": failed}, {})
        return outcomes

    def _trainings(self) -> list[TrainingJob]:
        """Return every training that trials ask for, once."""
        wanted = {
            (cell, trial.seed)
            for trial in self.trials
            for cell in (trial.cell, self.parameters.cells[trial.cell].after)
            if cell is not None and self.parameters.cells[cell].weights is None
        }
        jobs = {}
        for cell, seed in sorted(wanted, key=lambda one: one[::-1]):
            settings = self.parameters.training(self.name, cell, seed, self.train)
            job = TrainingJob(self.task, settings, self.patches, self.checkpoints, self.tracker)
            with suppress(BadInputError):  # weights to start from are missing: the cell will say so
                jobs[job.fingerprint] = job
        return list(jobs.values())

    def _run(self, trial: Trial, parent: str) -> Outcome:
        about = self.parameters.cells[trial.cell]
        outcome = Outcome(trial.cell, about.label, trial.seed, trial.sequence, about.after)
        child = fingerprint("cell", versions.STUDY, self.fingerprint, asdict(trial))
        tags = {"parent": parent, "study": self.name, "cell": trial.cell}
        try:
            trained, evaluation = self._measure(trial)
        except Exception as error:  # whatever it is, the other cells have a right to be run
            failure = f"{type(error).__name__}: {error}"
            explained = isinstance(error, BadInputError)
            logger.warning(
                "study %s: %s failed: %s", self.name, trial.name, failure, exc_info=not explained
            )
            self._record_failure(child, trial.name, tags, error)
            return replace(outcome, failure=failure)
        metrics = summarise(evaluation)
        settings = dict(flatten(trained.card["training"], "train."))
        with self.recorder.run(child) as journal:
            journal.start(trial.name, settings, {**tags, "training": trained.card["fingerprint"]})
            journal.finish({}, {})
            journal.evaluated(evaluation.fingerprint, metrics, {})
        return replace(outcome, settings=settings, metrics=metrics)

    def _measure(self, trial: Trial) -> tuple[TrainedModel, Evaluation]:
        about, pairs = self.parameters.cells[trial.cell], self.pairs
        if trial.sequence:
            pairs = one_sequence(pairs, trial.sequence)
        if about.single_channel:
            pairs = single_channel_pairs(pairs)
        if about.after is not None:
            pairs = restored_pairs(pairs, self._train(about.after, trial.seed))
        trained = self._train(trial.cell, trial.seed)
        settings = self.parameters.evaluation(self.name, self.evaluate)
        return trained, self.evaluations.make(evaluate(pairs, trained, settings, task=self.task))

    def _train(self, cell: str, seed: int) -> TrainedModel:
        """Train a cell, or find that it is done."""
        path = self.parameters.cells[cell].weights
        if path is not None:
            weights, card = self.checkpoints.initial_weights(path, self.task)
            return TrainedModel(weights, card, [])
        settings = self.parameters.training(self.name, cell, seed, self.train)
        return train(self.patches, settings, self.checkpoints, self.tracker, task=self.task)

    def _record_failure(
        self, child: str, name: str, tags: Mapping[str, Any], error: Exception
    ) -> None:
        try:
            with self.recorder.run(child) as journal:
                journal.start(name, {}, tags)
                raise error
        except type(error):
            pass
