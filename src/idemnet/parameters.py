"""Every parameter of the project: typed, bounded, documented.

The YAML files under conf/ are read into these classes before any node runs. A key that is not here,
or a value that breaks a rule, ends the run before it has touched a file.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator


def _odd(window: int) -> int:
    if window % 2 == 0:
        raise ValueError("must be odd, so that one frame stands in the middle")
    return window


OddWindow = Annotated[int, Field(ge=1, le=255), AfterValidator(_odd)]
Pixels = Annotated[int, Field(ge=1, le=32768)]


class Parameters(BaseModel):
    """A group of parameters: frozen, and unknown keys are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


class SceneParameters(Parameters):
    """The built-in scenes, rendered from photographs and procedural texture."""

    seed: NonNegativeInt = 0
    """Other seeds give other scenes; the same seed gives the same bytes."""
    train: PositiveInt = 18
    """Sequences to train on."""
    validation: PositiveInt = 4
    """Sequences held out to choose weights by; their photographs appear in no other split."""
    test: PositiveInt = 4
    """Sequences for the scores; their photographs appear in no other split."""
    frames: PositiveInt = 31
    """Frames of one sequence, at 240 a second."""
    height: Annotated[int, Field(ge=32, le=2160)] = 240
    """Of a frame, in pixels."""
    width: Annotated[int, Field(ge=32, le=3840)] = 320
    """Of a frame, in pixels."""


class ArchiveParameters(Parameters):
    """A data set that is published as one zip file."""

    addresses: tuple[str, ...] = ()
    """Tried in order: https:// or http:// addresses, or the path of a zip that is already here."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """Of the zip file. Where its publisher gives none, ours is recorded at the first download."""
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    """How often a broken transfer is taken up again, for each address."""
    timeout: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Seconds without a byte after which a transfer counts as broken."""
    unpacked_gigabytes: Annotated[float, Field(gt=0)] = 100.0
    """An archive that would unpack to more is refused."""
