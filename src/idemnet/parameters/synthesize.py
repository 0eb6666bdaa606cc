"""Parameters of synthesis: blur, haze and rain."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt, model_validator

from idemnet.parameters.base import Ascending, Parameters


def _odd(window: int) -> int:
    if window % 2 == 0:
        raise ValueError("must be odd, so that there is a middle frame")
    return window


OddWindow = Annotated[int, Field(ge=1, le=255), AfterValidator(_odd)]

NonNegative = Annotated[float, Field(ge=0)]

Share = Annotated[float, Field(ge=0, le=1)]

Layers = Annotated[int, Field(ge=1, le=20)]

StreakPixels = Annotated[float, Field(ge=0.5, le=200)]


class BlurParameters(Parameters):
    """How sharp frames become blurred images."""

    levels: Annotated[tuple[OddWindow, ...], Field(min_length=1)] = (5, 7, 9, 11, 13, 15)
    """Numbers of frames averaged into one image; odd, so that there is a middle frame."""
    windows: Literal["centred", "official"] = "centred"
    """`centred`: every level around the same centre frame. `official`: the disjoint runs that made
    GOPRO_Large, as long as the sequence's name says (GOPRxxxx_11_00: 11 frames)."""
    stride: PositiveInt = 11
    """Frames from one centre to the next; 11 gives the centres of GOPRO_Large's test set."""
    response: Literal["linear", "gamma"] = "linear"
    """Average stored values (GoPro's `blur`) or linear light (`blur_gamma`)."""

    @model_validator(mode="after")
    def _check_levels(self) -> Self:
        if list(self.levels) != sorted(set(self.levels)):
            raise ValueError(f"levels {list(self.levels)} must be ascending without repetition")
        return self


class HazeParameters(Parameters):
    """How clear images become hazy: I = J t + A (1 - t) with t = exp(-beta depth)."""

    seed: NonNegativeInt = 0
    """Seed of density and airlight."""
    levels: Annotated[int, Field(ge=1, le=99)] = 10
    """Number of hazy images of each clear one, from thin to thick."""
    beta: Annotated[tuple[NonNegative, NonNegative], Ascending] = (0.6, 1.8)
    """Range of the haze density, for depths up to 1; RESIDE's."""
    nearest: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Depth that is mapped to 0, without haze; the rest is stretched to 1. The built-in scenes
    start at 0.3."""
    airlight: Annotated[tuple[Share, Share], Ascending] = (0.7, 1.0)
    """A: range of the haze's brightness, 1 is white; RESIDE's."""


class RainParameters(Parameters):
    """How clean images become rainy: layers of streaks that add light, and a veil.

    Ranges apply to each layer of streaks; heavier rain has more layers.
    """

    seed: NonNegativeInt = 0
    """Seed of the streaks."""
    levels: Annotated[int, Field(ge=1, le=99)] = 5
    """Number of rainy images of each clean one, from drizzle to downpour."""
    stride: PositiveInt = 11
    """Frames of a sequence from one clean image to the next."""
    layers: Annotated[tuple[Layers, Layers], Ascending] = (1, 5)
    """Number of layers in the lightest and in the heaviest rain."""
    slant: Annotated[float, Field(ge=0, le=90)] = 35.0
    """Largest angle from the vertical, in degrees; layers vary by a few more."""
    length: Annotated[tuple[StreakPixels, StreakPixels], Ascending] = (12.0, 55.0)
    """Of a streak, in pixels."""
    width: Annotated[tuple[StreakPixels, StreakPixels], Ascending] = (0.9, 1.9)
    """Of a streak, in pixels."""
    density: Annotated[tuple[Share, Share], Ascending] = (0.07, 0.3)
    """Share of the picture under a layer's streaks, in the lightest and in the heaviest rain."""
    brightness: Annotated[tuple[Share, Share], Ascending] = (0.15, 0.45)
    """Range of the light that the middle of a streak adds; 1 is white."""
    veil: Share = 0.1
    """Opacity of the grey veil of distant drops in the heaviest rain."""
