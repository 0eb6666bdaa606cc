"""evaluate: scores of weights on the test pairs."""

from idemnet.errors import BadInputError
from idemnet.evaluation.protocols import check_fits
from idemnet.inference.weights import TrainedModel
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.steps import versions
from idemnet.steps.data import Pairs
from idemnet.steps.mix import source_of
from idemnet.steps.plan import Plan, step
from idemnet.storage.executor import Job


@step("evaluate", versions.EVALUATE, "torch")
def evaluate(pairs: Pairs, trained: TrainedModel, parameters: EvaluateParameters) -> Plan:
    """Score weights on the test images.

    Raises:
        BadInputError: If the protocol does not fit the task, or there is nothing to test on.
    """
    # Only here, so that a run that has nothing to evaluate does not import torch.
    from idemnet.evaluation.job import COST, EvaluationJob, evenly_spaced  # noqa: PLC0415
    from idemnet.inference.network import Network  # noqa: PLC0415
    from idemnet.system.device import choose_device  # noqa: PLC0415

    task = trained.card["task"]
    check_fits(parameters.protocol, task, forced=parameters.force_protocol)
    test = tuple(pair for pair in pairs.pairs if pair.split == "test")
    if parameters.sources:
        test = tuple(pair for pair in test if source_of(pair.sequence) in parameters.sources)
    if not test:
        raise BadInputError(f"data set '{pairs.dataset}' has no test images")
    if parameters.images is not None:
        test = tuple(test[at] for at in evenly_spaced(len(test), parameters.images))
    sources = list(dict.fromkeys(source_of(pair.sequence) for pair in test)) if pairs.mix else []
    device = choose_device(parameters.device)
    job = EvaluationJob(test, Network.of_project(trained), parameters, device)
    return Plan(
        [
            Job((COST,), job.make, alone=True),
            Job(tuple(name for name in job.names if name != COST), job.make, divisible=True),
        ],
        {
            "task": task,
            "dataset": " + ".join(parameters.sources) or pairs.dataset,
            "protocol": parameters.protocol,
            "chain": parameters.chain,
            "device": device,
            "card": dict(trained.card),
            **({"sources": sources} if len(sources) > 1 else {}),
            "samples": [
                {"name": f"{test[at].sequence}/{test[at].frame}", "level": test[at].level}
                for at in job.samples
            ],
        },
    )
