"""restore: pictures from the inbox, each given back as it came, but restored."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, update_wrapper
from importlib.metadata import version
from typing import TYPE_CHECKING

from idemnet.errors import BadInputError
from idemnet.inference.weights import TrainedModel
from idemnet.media.photo import Inbox, LazyPhoto, Photo
from idemnet.parameters.restore import RestoreParameters
from idemnet.steps import versions
from idemnet.steps.plan import Plan, Recipe, fingerprint
from idemnet.storage.executor import Job

if TYPE_CHECKING:
    from idemnet.inference.network import Network


@dataclass(frozen=True)
class RestoreJob:
    """Pictures to restore, and what with."""

    pictures: Mapping[str, LazyPhoto]
    network: "Network"
    how: RestoreParameters
    device: str

    def make(self, wanted: Collection[str]) -> Iterator[tuple[str, Photo]]:
        """Yield each picture when it is ready."""
        from idemnet.inference.restore import restore  # noqa: PLC0415

        model = self.network.build(self.device)
        for name in wanted:
            photo = self.pictures[name]()
            yield name, replace(photo, pixels=restore(model, photo.pixels, self.how, self.device))


def restore_inbox(
    inbox: Inbox, trained: TrainedModel, parameters: RestoreParameters, *, task: str
) -> Recipe:
    """Describe the restored pictures.

    Raises:
        BadInputError: If there is none, or the weights are another task's.
    """
    # Inside, so that listing pipelines need not import torch.
    from idemnet.inference.network import Network  # noqa: PLC0415
    from idemnet.system.device import choose_device  # noqa: PLC0415

    card = trained.card
    if card["task"] != task:
        raise BadInputError(f"the weights are for task '{card['task']}', not '{task}'")
    if not inbox.pictures:
        raise BadInputError(f"{inbox.place} holds no pictures")
    device = choose_device(parameters.device)
    job = RestoreJob(inbox.pictures, Network.of_project(trained), parameters, device)
    made_from = {"weights": card["sha256"], "device": device, "torch": version("torch")}
    return Recipe(
        fingerprint("restore", versions.RESTORE, parameters, inbox.fingerprint, made_from),
        lambda: Plan([Job(tuple(inbox.pictures), job.make)], {"task": task, "card": dict(card)}),
    )


def restore_for(task: str) -> Callable[..., Recipe]:
    """Return the function of one task's node."""
    return update_wrapper(partial(restore_inbox, task=task), restore_inbox)
