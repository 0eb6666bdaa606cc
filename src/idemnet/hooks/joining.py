"""Join a training that another process owns."""

import logging
from typing import Any, NoReturn, cast

import click
from kedro.io import DataCatalog, DatasetError
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from idemnet.errors import BadInputError, find_bad_input
from idemnet.parameters.train import TrainParameters

logger = logging.getLogger(__name__)


def find_training(pipeline: Pipeline) -> Node | None:
    """Return the pipeline's training step."""
    return next((step for step in pipeline.nodes if "train" in step.tags), None)


def training_parameters(step: Node, catalog: DataCatalog) -> TrainParameters:
    [name] = (name for name in step.inputs if name.startswith("params:"))
    return TrainParameters.model_validate(catalog.load(name))


def join_training(step: Node, catalog: DataCatalog, expected: str | None = None) -> NoReturn:
    """Take part in the training of the process that prepared the data, then exit.

    Args:
        step: The training step.
        catalog: Its data, prepared.
        expected: The fingerprint of what the other process trains, if it has said so.
    """
    weights = cast(Any, catalog.get(step.outputs[0]))
    try:
        data = [catalog.load(name) for name in step.inputs if not name.startswith("params:")]
        training = step.func(*data, training_parameters(step, catalog))
        training.join(weights.checkpoints, weights.tracker, expected)
    except (BadInputError, DatasetError) as error:
        raise click.ClickException(str(find_bad_input(error) or error)) from error
    logger.info("training is finished; the node that owns the data publishes the weights")
    raise SystemExit(0)
