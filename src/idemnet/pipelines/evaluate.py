"""evaluate: scores of weights on the test pairs."""

from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from importlib.metadata import version
from typing import Any

from idemnet.errors import BadInputError
from idemnet.evaluation.protocols import check_fits
from idemnet.inference.weights import TrainedModel
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.steps import versions
from idemnet.steps.data import Pair, Pairs
from idemnet.steps.plan import Plan, Recipe, fingerprint
from idemnet.storage.executor import Job


def evaluate(
    pairs: Pairs, trained: TrainedModel, parameters: EvaluateParameters, *, task: str
) -> Recipe:
    """Describe what will be measured on the test images.

    Raises:
        BadInputError: If the protocol does not fit, the weights are another task's, or there is
            nothing to test on.
    """
    check_fits(parameters.protocol, task, forced=parameters.force_protocol)
    card = trained.card
    if card["task"] != task:
        raise BadInputError(f"the weights are for task '{card['task']}', not '{task}'")
    test = tuple(pair for pair in pairs.pairs if pair.split == "test")
    if not test:
        raise BadInputError(f"data set '{pairs.dataset}' has no test images")
    made_from = {
        "weights": card["sha256"],
        # The evaluation holds the card, and its report is recorded with that training.
        "training": card.get("fingerprint"),
        "torch": version("torch"),
    }
    return Recipe(
        fingerprint("evaluate", versions.EVALUATE, parameters, pairs.fingerprint, made_from),
        partial(_plan, test, trained, parameters, {"task": task, "dataset": pairs.dataset}),
    )


def _plan(
    test: tuple[Pair, ...],
    trained: TrainedModel,
    parameters: EvaluateParameters,
    about: Mapping[str, Any],
) -> Plan:
    # Only here, so that whoever has nothing to evaluate need not import torch.
    from idemnet.evaluation.job import EvaluationJob  # noqa: PLC0415
    from idemnet.inference.network import Network  # noqa: PLC0415
    from idemnet.system.device import choose_device  # noqa: PLC0415

    device = choose_device(parameters.device)
    job = EvaluationJob(test, Network.of_project(trained), parameters, device)
    return Plan(
        [Job(job.names, job.make)],
        {
            **about,
            "protocol": parameters.protocol,
            "chain": parameters.chain,
            "device": device,
            "card": dict(trained.card),
            "samples": [
                {"name": f"{test[at].sequence}/{test[at].frame}", "level": test[at].level}
                for at in job.samples
            ],
        },
    )


def evaluate_for(task: str) -> Callable[..., Recipe]:
    """Return the function of one task's node."""
    return update_wrapper(partial(evaluate, task=task), evaluate)
