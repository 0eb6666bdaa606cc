"""Base class of all parameter groups."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict


def _ascending(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] > ends[1]:
        raise ValueError("must be ascending")
    return ends


Ascending = AfterValidator(_ascending)


class Parameters(BaseModel):
    """A group of parameters: frozen, and unknown keys are rejected."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return the group with some of its parameters set differently, checked again."""
        return self.model_validate({**self.model_dump(), **changes}) if changes else self
