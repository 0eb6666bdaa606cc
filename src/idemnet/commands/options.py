"""What several commands ask for."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from idemnet.errors import BadInputError
from idemnet.tasks import task_names

if TYPE_CHECKING:
    from idemnet.inference.restorer import Restorer

# Repeated here because their home would have to be imported, which takes too long for `--help`.
PROTOCOLS = ("gopro", "realblur", "rgb", "griddehaze", "rain")

NAMED_WEIGHTS = "PATH|mlflow:NAME@ALIAS"

Command = TypeVar("Command", bound=Callable[..., Any])


def restorer_options(command: Command) -> Command:
    """Add the options that choose a network."""
    task = click.option(
        "--task",
        type=click.Choice(task_names()),
        default="deblur",
        show_default=True,
        help="What to restore from.",
    )
    weights = click.option(
        "--weights",
        metavar=NAMED_WEIGHTS,
        help="Weights of your own, instead of those that come with idemnet: a folder such as "
        "data/06_models/deblur/builtin, a file, or a model in MLflow.",
    )
    network = click.option(
        "--network",
        metavar="PACKAGE.MODULE:CLASS",
        help="The network, where it is not one of idemnet's: code that is run, so name only what "
        "you trust.",
    )
    return task(weights(network(command)))


def load_restorer(task: str, weights: str | None, **how: Any) -> "Restorer":
    """Load the task's own weights, or others that are for this task."""
    from idemnet.inference.find_weights import find_weights  # noqa: PLC0415

    path = find_weights(weights or task)  # an error need not wait until torch is imported
    from idemnet.inference.restorer import Restorer  # noqa: PLC0415

    restorer = Restorer.load(path, **how)
    if restorer.card["task"] != task:
        raise BadInputError(
            f"these weights are for task '{restorer.card['task']}', not '{task}': give --task"
        )
    return restorer
