"""evaluate: scores of weights on the test pairs."""

from collections.abc import Callable
from functools import partial, update_wrapper
from importlib.metadata import version

from idemnet.errors import BadInputError
from idemnet.evaluation.protocols import check_fits
from idemnet.parameters import EvaluateParameters
from idemnet.recipes import Job, Pairs, Plan, Recipe, TrainedModel, fingerprint

VERSION = 1


def evaluate(
    pairs: Pairs, trained: TrainedModel, parameters: EvaluateParameters, *, task: str
) -> Recipe:
    """Describe what will be measured on the test images.

    Raises:
        BadInputError: If the protocol does not fit, the weights are another task's, or there is
            nothing to test on.
    """
    # torch takes seconds, which data steps do not wait for.
    from idemnet.evaluation.job import EvaluationJob  # noqa: PLC0415
    from idemnet.models.device import choose_device  # noqa: PLC0415
    from idemnet.models.network import Network  # noqa: PLC0415

    check_fits(parameters.protocol, task, forced=parameters.force_protocol)
    card = trained.card
    if card["task"] != task:
        raise BadInputError(f"the weights are for task '{card['task']}', not '{task}'")
    test = tuple(pair for pair in pairs.pairs if pair.split == "test")
    if not test:
        raise BadInputError(f"data set '{pairs.dataset}' has no test images")
    device = choose_device(parameters.device)
    job = EvaluationJob(test, Network.of(trained), parameters, device)
    about = {
        "task": task,
        "dataset": pairs.dataset,
        "protocol": parameters.protocol,
        "chain": parameters.chain,
        "device": device,
        "card": dict(card),
        "samples": [
            {"name": f"{test[at].sequence}/{test[at].frame}", "level": test[at].level}
            for at in job.samples
        ],
    }
    made_from = {"weights": card["sha256"], "device": device, "torch": version("torch")}
    return Recipe(
        fingerprint("evaluate", VERSION, parameters, pairs.fingerprint, made_from),
        lambda: Plan([Job(job.names, job.make)], about),
    )


def evaluate_for(task: str) -> Callable[..., Recipe]:
    """Give the function of one task's node."""
    return update_wrapper(partial(evaluate, task=task), evaluate)
