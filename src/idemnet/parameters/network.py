"""Parameters of the networks."""

from typing import Annotated, Literal

from pydantic import (
    Field,
)

from idemnet.parameters.base import Parameters


class IdempotentParameters(Parameters):
    """Arguments of the idempotent network; the defaults are the paper's."""

    width: Annotated[int, Field(ge=1, le=512)] = 32
    """Channels at full resolution; twice and four times as many at half and a quarter."""
    iterations: Annotated[int, Field(ge=1, le=64)] = 6
    """N: iterations of the shared unit in one restoration."""
    feature_recurrence: bool = True
    """Pass the decoder's feature maps to the next iteration (eq. 4)."""
    code_recurrence: bool = True
    """Remember the latent codes of earlier iterations (eq. 5)."""
    recurrence_tap: Literal["residual", "upsample"] = "residual"
    """Where feature maps are taken: after a decoder level's last block, as in the paper's text, or
    at the upsampling layer before it."""
    downscale: Literal[1, 2, 4] = 1
    """Work on squares of this many pixels as one: 2 costs about a quarter."""
    block: Literal["residual", "gated"] = "residual"
    """Blocks of each level: the paper's residual blocks, or gated ones, which learn more in the
    same time."""
    attention_window: Annotated[int, Field(ge=8, le=4096)] = 128
    """Side of the cells that gated blocks average over when restoring; the side of training
    crops."""
    residual_scale: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Factor on the last convolution's initial weights; 0.01 starts near the identity."""


class DMPHNParameters(Parameters):
    """Arguments of DMPHN; the defaults are its authors' (1-2-4-8)."""

    stack: Annotated[int, Field(ge=1, le=8)] = 1
    """1: levels 1-2-4-8; more: that many stacks of levels 1-2-4 (4: Stack(4)-DMPHN)."""
    width: Annotated[int, Field(ge=1, le=512)] = 32
    """Channels at full resolution; twice and four times as many at half and a quarter."""
    downscale: Literal[1, 2, 4] = 1
    """Work on squares of this many pixels as one: 2 costs about a quarter."""
    residual_scale: Annotated[float, Field(ge=0, le=1)] | None = None
    """`null`: level 1 returns the image itself, as in DMPHN. A number, for short trainings: it
    returns a residual, with this factor on the last convolution's initial weights. A decoder
    without skip connections learns the image slowly; 0.01 starts near the identity."""


class MTRNNParameters(Parameters):
    """Arguments of MT-RNN; the defaults are its authors'."""

    width: Annotated[int, Field(ge=1, le=512)] = 32
    """Channels at full resolution; twice and four times as many at half and a quarter."""
    iterations: Annotated[int, Field(ge=1, le=64)] = 6
    """Iterations of the shared unit in one restoration."""
    downscale: Literal[1, 2, 4] = 1
    """Work on squares of this many pixels as one: 2 costs about a quarter."""
    residual_scale: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Factor on the last convolution's initial weights and bias; 0.01 starts near the identity."""


class UNetParameters(Parameters):
    """Arguments of the gated U-shape; the defaults are those of the starter weights."""

    width: Annotated[int, Field(ge=1, le=512)] = 32
    """Channels at the first level; doubled at each of the next."""
    encoder_blocks: Annotated[
        tuple[Annotated[int, Field(ge=0, le=64)], ...], Field(min_length=1, max_length=6)
    ] = (1, 1, 2)
    """Blocks of each level on the way down; each level halves the resolution."""
    middle_blocks: Annotated[int, Field(ge=0, le=64)] = 4
    """Blocks at the lowest resolution, where they cost least and see farthest."""
    decoder_blocks: Annotated[int, Field(ge=0, le=64)] = 1
    """Blocks of each level on the way up."""
    downscale: Literal[1, 2, 4] = 2
    """Work on squares of this many pixels as one: 2 costs about a quarter."""
    residual_scale: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Factor on the last convolution's initial weights; 0.01 starts near the identity."""


class NetworkParameters(Parameters):
    """Arguments of each model; only those of the chosen one are used."""

    idempotent: IdempotentParameters = IdempotentParameters()
    dmphn: DMPHNParameters = DMPHNParameters()
    mtrnn: MTRNNParameters = MTRNNParameters()
    unet: UNetParameters = UNetParameters()
