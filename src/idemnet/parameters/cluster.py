"""Parameters of a cluster that runs jobs over images and sequences."""

from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from idemnet.parameters.base import Parameters


class ClusterParameters(Parameters):
    """Where jobs run; with neither of the two, in processes of this machine.

    A top-level parameter, as machines differ and results do not: no node takes it, so that no
    fingerprint has it, and `--params=cluster.scheduler=...` sets it.
    """

    scheduler: Annotated[str, Field(pattern=r"^(tcp|tls|ws|wss|ucx)://.+")] | None = None
    """Address of a Dask scheduler, such as tcp://host:8786."""
    local: PositiveInt | None = None
    """Workers of a Dask cluster on this machine that lasts as long as the run."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.scheduler and self.local:
            raise ValueError("scheduler and local exclude each other")
        return self
