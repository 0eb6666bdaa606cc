"""The group that every parameter belongs to: frozen, bounded, unknown keys rejected."""

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
)


def _ascending(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] > ends[1]:
        raise ValueError("must ascend")
    return ends


Ascending = AfterValidator(_ascending)


class Parameters(BaseModel):
    """A group of parameters: frozen, and unknown keys are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )
