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
    """Scoring protocol, one of idemnet.evaluation.protocols."""
    force_protocol: bool = False
    """Use it even if it is not this task's; scores are then not comparable with published ones."""
    passes: Annotated[int, Field(ge=2, le=100)] = 10
    """Number of repeated restorations, for the repeat curve."""
    chain: Literal["float", "uint8"] = "float"
    """What one pass passes to the next: floats, or values rounded and clipped to 8 bits, as when a
    saved picture is restored again."""
    noise: tuple[Annotated[int, Field(ge=0, le=255)], ...] = (0, 5, 10, 15, 20)
    """Standard deviations (of 255) of the noise that is added before restoring."""
    sources: tuple[str, ...] = Field((), exclude_if=lambda names: not names)
    """Of mixed data, the sources whose test images are scored; empty: all."""
    images: PositiveInt | None = Field(None, exclude_if=lambda count: count is None)
    """Number of test images to score, evenly spaced; `null`: all."""
    detailed_images: PositiveInt = 100
    """Number of these, evenly spaced, for repeat curve, iterations and noise, which need many
    restorations each."""
    samples: PositiveInt = 4
    """Number of images, evenly spaced, whose pictures are kept for the report."""
    tile: Annotated[int, Field(ge=64, le=32768)] = 2048
    """Larger images are restored in tiles of at most this many pixels a side."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
