"""Under torchrun or srun: rank 0 runs the pipeline, the other processes join its training."""

import logging

import click
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from idemnet.errors import BadInputError
from idemnet.hooks.joining import find_training, join_training, training_parameters
from idemnet.system.launcher import Place, launched_place
from idemnet.training.world import check_batch

logger = logging.getLogger(__name__)


class OuterLauncherHooks:
    """Checks that the batch fits the processes; of an outer launcher's, all but one only train."""

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        step = find_training(pipeline)
        try:
            if step:
                check_batch(training_parameters(step, catalog))
            place = launched_place()
            if place:
                _meet(place, pipeline, catalog)
        except BadInputError as error:
            raise click.ClickException(str(error)) from error


def _meet(place: Place, pipeline: Pipeline, catalog: DataCatalog) -> None:
    """Return on rank 0; on the others wait for its data, take part in its training, and exit."""
    if any("study" in step.tags for step in pipeline.nodes):
        raise BadInputError(
            "a study trains one network after the other and starts its own processes; run it "
            "without torchrun or srun (processes: auto takes every GPU)"
        )
    step = find_training(pipeline)
    if step:
        from idemnet.training.rendezvous import open_store, wait_for_training  # noqa: PLC0415

        minutes = training_parameters(step, catalog).rendezvous_minutes
        open_store(minutes)
    if place.rank == 0:
        return
    if step:
        logger.info("rank %d: waiting up to %g minutes for the data of rank 0", place.rank, minutes)
        fingerprint = wait_for_training(minutes)
        if fingerprint:
            join_training(step, catalog, fingerprint)
    logger.info("rank %d: nothing to train, rank 0 does the rest", place.rank)
    raise SystemExit(0)
