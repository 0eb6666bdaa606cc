"""How many processes train together."""

from idemnet.errors import BadInputError
from idemnet.parameters.train import TrainParameters
from idemnet.system.launcher import launched_place


def count_processes(parameters: TrainParameters) -> tuple[int, int]:
    """Return the training processes on each machine, and the machines.

    An outer launcher has decided both; `auto` takes every visible GPU.
    """
    place = launched_place()
    if place:
        return place.local_size, place.size // place.local_size
    if isinstance(parameters.processes, int):
        return parameters.processes, parameters.nodes
    import torch  # noqa: PLC0415  # takes seconds

    from idemnet.system.device import choose_device  # noqa: PLC0415

    gpus = torch.cuda.device_count() if choose_device(parameters.device) == "cuda" else 1
    return gpus, parameters.nodes


def check_batch(parameters: TrainParameters) -> None:
    """Reject a batch that cannot be divided among the processes.

    Raises:
        BadInputError: If so.
    """
    processes, nodes = count_processes(parameters)
    parts = parameters.accumulation_steps * processes * nodes
    if parameters.batch_size % parts:
        raise BadInputError(
            f"batch_size = {parameters.batch_size} must be a multiple of accumulation_steps x "
            f"processes x nodes = {parameters.accumulation_steps} x {processes} x {nodes}"
        )
