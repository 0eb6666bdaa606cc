"""Parameters of evaluation."""

from typing import Annotated, Literal

from pydantic import (
    Field,
    PositiveInt,
)

from idemnet.parameters.restore import TilingParameters

ProtocolName = Literal["gopro", "realblur", "rgb", "griddehaze", "rain"]


class EvaluateParameters(TilingParameters):
    """How results are scored."""

    protocol: ProtocolName
    """The agreement behind the figures, one of idemnet.evaluation.protocols; the data set's."""
    force_protocol: bool = False
    """Score by it even if nobody scores this task so; the figures compare with no table."""
    passes: Annotated[int, Field(ge=2, le=100)] = 10
    """Restorations one after the other, for the repeat curve."""
    chain: Literal["float", "uint8"] = "float"
    """What one pass hands to the next: its numbers as they are, or rounded and clipped to 8 bits,
    as when a saved picture is restored again."""
    noise: tuple[Annotated[int, Field(ge=0, le=255)], ...] = (0, 5, 10, 15, 20)
    """Standard deviations (of 255) of the noise that is added before restoring."""
    detailed_images: PositiveInt = 100
    """Images, evenly spread, for repeat curve, iterations and noise, which cost as much again as
    many restorations."""
    samples: PositiveInt = 4
    """Images, evenly spread, whose pictures are kept for the report."""
    tile: Annotated[int, Field(ge=64, le=32768)] = 2048
    """Larger images are restored in tiles of at most this many pixels a side."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
