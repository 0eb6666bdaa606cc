"""restore: pictures from the inbox, written back in their formats."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from idemnet.errors import BadInputError
from idemnet.inference.weights import TrainedModel
from idemnet.media.photo import Inbox, LazyPhoto, Photo
from idemnet.parameters.restore import RestoreParameters
from idemnet.steps import versions
from idemnet.steps.plan import Plan, step
from idemnet.storage.executor import Job

if TYPE_CHECKING:
    from idemnet.inference.network import Network


@dataclass(frozen=True)
class RestoreJob:
    """Pictures to restore, and the network."""

    pictures: Mapping[str, LazyPhoto]
    network: "Network"
    how: RestoreParameters
    device: str

    def make(self, wanted: Collection[str]) -> Iterator[tuple[str, Photo]]:
        """Yield each restored picture."""
        from idemnet.inference.restore import restore  # noqa: PLC0415

        model = self.network.build(self.device)
        for name in wanted:
            photo = self.pictures[name]()
            restored = restore(model, photo.pixels, self.how, self.device)
            yield name, replace(photo, pixels=restored)


@step("restore", versions.RESTORE, "torch")
def restore_inbox(inbox: Inbox, trained: TrainedModel, parameters: RestoreParameters) -> Plan:
    """Restore every picture in the inbox.

    Raises:
        BadInputError: If there is none.
    """
    # Imported here, so that listing pipelines does not import torch.
    from idemnet.inference.network import Network  # noqa: PLC0415
    from idemnet.system.device import choose_device  # noqa: PLC0415

    if not inbox.pictures:
        raise BadInputError(f"{inbox.place} contains no pictures")
    device = choose_device(parameters.device)
    job = RestoreJob(inbox.pictures, Network.of_project(trained), parameters, device)
    about = {"task": trained.card["task"], "card": dict(trained.card)}
    return Plan([Job(tuple(inbox.pictures), job.make, divisible=True)], about)
