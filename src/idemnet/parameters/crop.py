"""Parameters of cropping."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from idemnet.parameters.base import Parameters


class CropParameters(Parameters):
    """How pairs become patches."""

    size: Annotated[int, Field(ge=8, le=4096)] = 128
    """Side of a patch, in pixels; training cuts its random crops out of it."""
    stride: Annotated[int, Field(ge=1, le=4096)] = 64
    """Pixels from one patch to the next; the last one in a row or column ends at the edge."""
    min_contrast: Annotated[float, Field(ge=0, lt=128)] = 0.0
    """Patches whose clean grey values (0-255) have a lower standard deviation are left out."""
    validation_fraction: Annotated[float, Field(ge=0, le=0.5)] = 0.1
    """Share of the training sequences to hold out, if the data has no validation split."""
    validation_sequences: tuple[str, ...] = ()
    """Names of the training sequences to hold out, instead of a share of them."""

    @model_validator(mode="after")
    def _check_stride(self) -> Self:
        if self.stride > self.size:
            raise ValueError(f"stride {self.stride} must not exceed size {self.size}")
        return self
