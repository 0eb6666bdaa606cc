"""Options that several commands share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from idemnet.errors import BadInputError
from idemnet.tasks import task_names

if TYPE_CHECKING:
    from idemnet.inference.restorer import Restorer

# Repeated here because importing them would slow down `--help`.
PROTOCOLS = ("gopro", "realblur", "rgb", "griddehaze", "rain")

NAMED_WEIGHTS = "PATH|hf://OWNER/NAME|mlflow:NAME@ALIAS"

Command = TypeVar("Command", bound=Callable[..., Any])


def restorer_options(command: Command) -> Command:
    """Add the options that choose a network."""
    task = click.option(
        "--task",
        type=click.Choice(task_names()),
        default="deblur",
        show_default=True,
        help="What to restore.",
    )
    weights = click.option(
        "--weights",
        metavar=NAMED_WEIGHTS,
        help="Your own weights instead of the bundled ones: a folder such as "
        "data/06_models/deblur/builtin, a file, or a model on the Hugging Face Hub or in MLflow.",
    )
    network = click.option(
        "--network",
        metavar="PACKAGE.MODULE:CLASS",
        help="Your own network class, if the weights are not for one of idemnet's. Its code is "
        "run, so name only what you trust.",
    )
    return task(weights(network(command)))


def load_restorer(task: str, weights: str | None, **how: Any) -> "Restorer":
    """Load the bundled weights of a task, or others for the same task."""
    from idemnet.inference.find_weights import find_weights  # noqa: PLC0415

    path = find_weights(weights or task)  # report errors before importing torch
    from idemnet.inference.restorer import Restorer  # noqa: PLC0415

    restorer = Restorer.load(path, **how)
    if restorer.card["task"] != task:
        raise BadInputError(
            f"these weights are for task '{restorer.card['task']}', not '{task}': use --task"
        )
    return restorer
