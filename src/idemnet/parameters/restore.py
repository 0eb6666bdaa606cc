"""Parameters of restoring pictures."""

from typing import Annotated, Literal, Self

from pydantic import (
    ByteSize,
    Field,
    model_validator,
)

from idemnet.parameters.base import Parameters


class TilingParameters(Parameters):
    """How large pictures are cut into tiles."""

    tile: Annotated[int, Field(ge=64, le=32768)] = 512
    """Images with more pixels than a square of this side are restored in tiles of at most that
    many; tiles too small for the overlap are enlarged."""
    tile_overlap: Annotated[int, Field(ge=0, le=1024)] | None = None
    """Overlap of neighbouring tiles in pixels. `null`: from the network's receptive field, which
    is on the weights' card, or else measured before the first tile."""

    @model_validator(mode="after")
    def _check_overlap(self) -> Self:
        if self.tile_overlap is not None and self.tile_overlap >= self.tile:
            raise ValueError(f"tile_overlap = {self.tile_overlap} must be below tile = {self.tile}")
        return self


class RestoreParameters(TilingParameters):
    """How pictures from the inbox are restored."""

    passes: Annotated[int, Field(ge=1, le=100)] = 1
    """Number of restorations, each of the previous result."""
    memory: ByteSize | None = None
    """Memory limit, such as `2GB`: tiles become as small as needed. `null`: no limit."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
