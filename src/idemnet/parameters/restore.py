"""Parameters of restoring pictures."""

from typing import Annotated, Literal, Self

from pydantic import (
    ByteSize,
    Field,
    model_validator,
)

from idemnet.parameters.base import Parameters


class TilingParameters(Parameters):
    """How pictures that are too large to be restored at once are cut up."""

    tile: Annotated[int, Field(ge=64, le=32768)] = 512
    """Images of more pixels than a square of this side are restored in tiles of at most as many.
    With this, most arrays of the paper's network are small enough to be kept (machine.TILES)."""
    tile_overlap: Annotated[int, Field(ge=0, le=1024)] | None = None
    """Pixels that neighbouring tiles share. `null`: as many as the network needs, which is measured
    when it first has to restore in tiles (idemnet.inference.receptive_field)."""

    @model_validator(mode="after")
    def _tiles_get_on(self) -> Self:
        if self.tile_overlap is not None and self.tile_overlap >= self.tile:
            raise ValueError(f"tile_overlap = {self.tile_overlap} must be below tile = {self.tile}")
        return self


class RestoreParameters(TilingParameters):
    """How pictures from the inbox are restored."""

    passes: Annotated[int, Field(ge=1, le=100)] = 1
    """Restorations one after the other."""
    memory: ByteSize | None = None
    """What the process may take, as `2GB`: tiles become as small as needed. `null`: not limited."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
