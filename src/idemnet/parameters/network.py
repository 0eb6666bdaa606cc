"""Parameters of the networks."""

from typing import Annotated, Literal

from pydantic import (
    Field,
)

from idemnet.parameters.base import Parameters


class IdempotentParameters(Parameters):
    """The idempotent network; the defaults are the paper's."""

    width: Annotated[int, Field(ge=1, le=512)] = 32
    """Channels at full resolution; twice and four times as many at half and a quarter."""
    iterations: Annotated[int, Field(ge=1, le=64)] = 6
    """N: passes of the shared unit in one restoration."""
    feature_recurrence: bool = True
    """Pass the decoder's feature maps to the next iteration (eq. 4)."""
    code_recurrence: bool = True
    """Remember the latent codes of earlier iterations (eq. 5)."""
    recurrence_tap: Literal["residual", "upsample"] = "residual"
    """Where the feature maps are taken: behind a decoder level's last block, or before it."""
    downscale: Literal[1, 2, 4] = 1
    """Work on squares of this many pixels as one: 2 costs about a quarter."""
    block: Literal["residual", "gated"] = "residual"
    """What each level is built of: the paper's residual blocks, or gated ones, which learn more in
    the same time."""
    attention_window: Annotated[int, Field(ge=8, le=4096)] = 128
    """Pixels over which gated blocks take means when they restore; the side of training's crops."""
    residual_scale: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Factor on the last convolution's initial weights; 0.01 starts near the identity."""


class DMPHNParameters(Parameters):
    """DMPHN; the defaults are its authors' (1-2-4-8)."""

    stack: Annotated[int, Field(ge=1, le=8)] = 1
    """1: levels 1-2-4-8; more: so many stacks of levels 1-2-4 (4: Stack(4)-DMPHN)."""
    width: Annotated[int, Field(ge=1, le=512)] = 32
    """Channels at full resolution; twice and four times as many at half and a quarter."""
    downscale: Literal[1, 2, 4] = 1
    """Work on squares of this many pixels as one: 2 costs about a quarter."""
    residual_scale: Annotated[float, Field(ge=0, le=1)] | None = None
    """`null`: level 1 gives the image itself, as DMPHN's does. A number, for small trainings: it
    gives a residual, whose last convolution's initial weights have this factor."""


class MTRNNParameters(Parameters):
    """MT-RNN; the defaults are its authors'."""

    width: Annotated[int, Field(ge=1, le=512)] = 32
    """Channels at full resolution; twice and four times as many at half and a quarter."""
    iterations: Annotated[int, Field(ge=1, le=64)] = 6
    """Passes of the shared unit in one restoration."""
    downscale: Literal[1, 2, 4] = 1
    """Work on squares of this many pixels as one: 2 costs about a quarter."""
    residual_scale: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Factor on the last convolution's initial weights; 0.01 starts near the identity."""


class NetworkParameters(Parameters):
    """What each model is built with; only the group of the chosen one counts."""

    idempotent: IdempotentParameters = IdempotentParameters()
    dmphn: DMPHNParameters = DMPHNParameters()
    mtrnn: MTRNNParameters = MTRNNParameters()
