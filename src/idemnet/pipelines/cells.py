"""Run the cells of a study: their trainings and evaluations."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from idemnet.errors import BadInputError
from idemnet.evaluation.metrics import summarise
from idemnet.inference.weights import TrainedModel
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.study import StudyParameters
from idemnet.parameters.train import LOGGED, TrainParameters
from idemnet.pipelines.evaluate import evaluate
from idemnet.pipelines.study_inputs import one_sequence, restored_pairs, single_channel_pairs
from idemnet.pipelines.train import train
from idemnet.steps import versions
from idemnet.steps.data import Evaluation, Pairs, Patches
from idemnet.steps.plan import fingerprint, flatten
from idemnet.steps.services import StudyStores
from idemnet.steps.study import Outcome
from idemnet.studies.parts.study import Cell, Study
from idemnet.training.job import TrainingJob

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """A cell with one seed, on all test images or on one sequence."""

    cell: Cell
    seed: int
    sequence: str

    @property
    def name(self) -> str:
        return "-".join(filter(None, (self.cell.name, self.sequence, str(self.seed))))


@dataclass(frozen=True)
class StudyRun:
    """A study with everything needed to train and evaluate its cells."""

    study: Study
    parameters: StudyParameters
    pairs: Pairs
    patches: Patches
    train: TrainParameters
    evaluate: EvaluateParameters
    stores: StudyStores

    @cached_property
    def fingerprint(self) -> str:
        """Return the fingerprint of the study: its data and cells."""
        parts = {"name": self.study.name, "patches": self.patches.fingerprint}
        trials = {
            trial.name: self._training(trial.cell, trial.seed).model_dump(
                mode="json", exclude=LOGGED
            )
            for trial in self.trials
        }
        return fingerprint("study", versions.STUDY, self.parameters, self.evaluate, parts, trials)

    @cached_property
    def trials(self) -> list[Trial]:
        """Return the trials seed by seed, so that a complete table is available early."""
        sequences = [""]
        if self.study.apart(self.parameters):
            sequences = sorted({one.sequence for one in self.pairs.pairs if one.split == "test"})
        return [
            Trial(cell, seed, sequence)
            for seed in range(self.parameters.seeds)
            for cell in self.study.chosen(self.parameters)
            for sequence in sequences
        ]

    def run(self) -> list[Outcome]:
        """Run every trial; one that fails does not stop the others."""
        from idemnet.training.concurrent import train_concurrently  # noqa: PLC0415  # Unix only

        with self.stores.recorder.run(self.fingerprint) as journal:
            settings = self.parameters.model_dump(exclude={"cells", "studies"})
            journal.start(f"study-{self.study.name}", settings, {"study": self.study.name})
        train_concurrently(self._trainings())
        outcomes = []
        for number, trial in enumerate(self.trials, 1):
            logger.info(
                "study %s: %s (%d of %d)", self.study.name, trial.name, number, len(self.trials)
            )
            outcomes.append(self._run(trial))
        failed = sum(outcome.metrics is None for outcome in outcomes)
        with self.stores.recorder.run(self.fingerprint) as journal:
            journal.finish({"cells": len(outcomes), "failed": failed}, {})
        return outcomes

    def _trainings(self) -> list[TrainingJob]:
        """Return every training that trials need, once."""
        wanted = {
            (trial.seed, cell.name): cell
            for trial in self.trials
            for cell in (trial.cell, trial.cell.after)
            if cell is not None and self.parameters.of_cell(cell.name).weights is None
        }
        jobs = {}
        for (seed, _), cell in sorted(wanted.items(), key=lambda one: one[0]):
            job = self._job(cell, seed)
            with suppress(BadInputError):  # initial weights are missing: reported by the cell
                jobs[job.fingerprint] = job
        return list(jobs.values())

    def _run(self, trial: Trial) -> Outcome:
        cell, after = trial.cell, trial.cell.after
        outcome = Outcome(
            cell.name, cell.label, trial.seed, trial.sequence, after.name if after else None
        )
        child = fingerprint("cell", versions.STUDY, self.fingerprint, trial.name)
        tags = {"parent": self.fingerprint, "study": self.study.name, "cell": cell.name}
        try:
            trained, evaluation = self._measure(trial)
        except Exception as error:  # any exception: the other cells still run
            failure = f"{type(error).__name__}: {error}"
            explained = isinstance(error, BadInputError)
            logger.warning(
                "study %s: %s failed: %s", self.study.name, trial.name, failure,
                exc_info=not explained,
            )  # fmt: skip
            self._record_failure(child, trial.name, tags, error)
            return replace(outcome, failure=failure)
        metrics = summarise(evaluation)
        settings = dict(flatten(trained.card["training"], "train."))
        with self.stores.recorder.run(child) as journal:
            journal.start(trial.name, settings, {**tags, "training": trained.card["fingerprint"]})
            journal.finish({}, {})
            journal.evaluated(evaluation.fingerprint, metrics, {})
        outcome = replace(outcome, settings=settings, metrics=metrics)
        if self.parameters.of_cell(cell.name).weights is not None:
            return outcome
        job = self._job(cell, trial.seed)
        return replace(outcome, updates=job.steps, hours=self.stores.tracker.hours(job.fingerprint))

    def _measure(self, trial: Trial) -> tuple[TrainedModel, Evaluation]:
        cell, pairs = trial.cell, self.pairs
        if trial.sequence:
            pairs = one_sequence(pairs, trial.sequence)
        if cell.single_channel:
            pairs = single_channel_pairs(pairs)
        if cell.after is not None:
            pairs = restored_pairs(pairs, self._train(cell.after, trial.seed))
        trained = self._train(cell, trial.seed)
        settings = self.study.evaluation(self.parameters, self.evaluate)
        return trained, self.stores.evaluations.make(evaluate(pairs, trained, settings))

    def _train(self, cell: Cell, seed: int) -> TrainedModel:
        """Train a cell, unless it is done."""
        path = self.parameters.of_cell(cell.name).weights
        if path is not None:
            weights, card = self.stores.checkpoints.initial_weights(path, self.study.task)
            own = str(card.get("architecture"))
            if ":" in own and own != self._training(cell, seed).model:  # a card chooses no code
                raise BadInputError(
                    f"{path}: the weights are for {own}, which is not part of idemnet: if you "
                    f"trust its code, set study.cells.{cell.name}.train.model to it"
                )
            return TrainedModel(weights, card, [])
        training = train(self.patches, self.pairs, self._training(cell, seed))
        return training.run(self.stores.checkpoints, self.stores.tracker)

    def _job(self, cell: Cell, seed: int) -> TrainingJob:
        training = train(self.patches, self.pairs, self._training(cell, seed))
        return training.job(self.stores.checkpoints, self.stores.tracker)

    def _training(self, cell: Cell, seed: int) -> TrainParameters:
        return self.study.training(cell, seed, self.parameters, self.train)

    def _record_failure(
        self, child: str, name: str, tags: Mapping[str, Any], error: Exception
    ) -> None:
        try:
            with self.stores.recorder.run(child) as journal:
                journal.start(name, {}, tags)
                raise error
        except type(error):
            pass
