"""Parameters of the first three steps, download, synthesize and crop; as in parameters.py."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt, model_validator

from idemnet.parameters import Ascending, Parameters


def _odd(window: int) -> int:
    if window % 2 == 0:
        raise ValueError("must be odd, so that one frame stands in the middle")
    return window


OddWindow = Annotated[int, Field(ge=1, le=255), AfterValidator(_odd)]
Pixels = Annotated[int, Field(ge=1, le=32768)]
NonNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Layers = Annotated[int, Field(ge=1, le=20)]
StreakPixels = Annotated[float, Field(ge=0.5, le=200)]


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
    frames: PositiveInt = 47
    """Frames of one sequence, at 240 a second."""
    height: Annotated[int, Field(ge=32, le=2160)] = 240
    """Of a frame, in pixels."""
    width: Annotated[int, Field(ge=32, le=3840)] = 320
    """Of a frame, in pixels."""
    photographs: str = Field("", exclude=True)  # what is in it counts, not where it is
    """Folder of further photographs to train on, beside those that installed packages bring."""


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


class FolderParameters(Parameters):
    """A data set that is already unpacked; it is used in place, never copied."""

    path: str = ""
    """Of the folder that holds train/ and test/, or links to them."""


class VideosParameters(Parameters):
    """High-frame-rate videos (mp4, mov); one file is one sequence, decoded in place."""

    path: str = ""
    """Of the folder with the videos; those under test/ are for scores, all others for training."""


class StructureParameters(Parameters):
    """What the data set is known to hold; `null` where nobody knows. Checked before it is used."""

    train_sequences: PositiveInt | None = None
    test_sequences: PositiveInt | None = None
    train_images: PositiveInt | None = None
    """Frames, or pairs where the data set is one of pairs."""
    test_images: PositiveInt | None = None
    height: Pixels | None = None
    width: Pixels | None = None


class SourceParameters(Parameters):
    """Where a task's raw data comes from."""

    kind: Literal["builtin", "archive", "folder", "videos"] = "builtin"
    """Which of the groups below is used."""
    layout: Literal["frames", "gopro", "reside", "flat"] = "frames"
    """Of an archive or folder. `frames`: SPLIT/SEQUENCE/*.png, filmed frames; `gopro`:
    SPLIT/SEQUENCE/{blur,blur_gamma,sharp}/*.png; `reside`: [SPLIT/]{hazy,clear}/*, many
    hazy ones to a clear one; `flat`: [SPLIT/][SET/]{input,target}/*."""
    builtin: SceneParameters = SceneParameters()
    archive: ArchiveParameters = ArchiveParameters()
    folder: FolderParameters = FolderParameters()
    videos: VideosParameters = VideosParameters()
    expected: StructureParameters = StructureParameters()


class BlurParameters(Parameters):
    """How sharp frames become blurred images."""

    levels: Annotated[tuple[OddWindow, ...], Field(min_length=1)] = (5, 7, 9, 11, 13, 15)
    """Frames averaged into one image; odd, so that one frame stands in the middle."""
    windows: Literal["centred", "official"] = "centred"
    """`centred`: every level around the same centre frame. `official`: the disjoint runs that made
    GOPRO_Large, as long as the sequence's name says (GOPRxxxx_11_00: 11 frames)."""
    stride: PositiveInt = 11
    """Frames from one centre to the next; 11 gives the centres of GOPRO_Large's test set."""
    response: Literal["linear", "gamma"] = "linear"
    """Average stored values (GoPro's `blur`) or light (`blur_gamma`)."""

    @model_validator(mode="after")
    def _levels_ascend(self) -> Self:
        if list(self.levels) != sorted(set(self.levels)):
            raise ValueError(f"levels {list(self.levels)} must ascend without repetition")
        return self


class HazeParameters(Parameters):
    """How clear images become hazy: I = J t + A (1 - t) with t = exp(-beta depth)."""

    seed: NonNegativeInt = 0
    """Of density and airlight."""
    levels: Annotated[int, Field(ge=1, le=99)] = 10
    """Hazy images of each clear one, from thin to thick: the range of beta in as many parts."""
    beta: Annotated[tuple[NonNegative, NonNegative], Ascending] = (0.6, 1.8)
    """Density of the haze, for depths of which 1 is the farthest; RESIDE's."""
    nearest: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Depth that counts as 0, without haze: what is left up to 1 is stretched. The built-in scenes
    have nothing nearer than 0.3."""
    airlight: Annotated[tuple[Share, Share], Ascending] = (0.7, 1.0)
    """A: brightness of the haze itself, 1 is white; RESIDE's."""


class RainParameters(Parameters):
    """How clean images become rainy: layers of streaks that add light, and a veil.

    Each range is for a layer of streaks; the heavier the rain, the more layers.
    """

    seed: NonNegativeInt = 0
    """Of everything about the streaks."""
    levels: Annotated[int, Field(ge=1, le=99)] = 5
    """Rainy images of each clean one, from a drizzle to a downpour."""
    stride: PositiveInt = 11
    """Frames of a sequence from one clean image to the next."""
    layers: Annotated[tuple[Layers, Layers], Ascending] = (1, 5)
    """Of the lightest rain and of the heaviest."""
    slant: Annotated[float, Field(ge=0, le=90)] = 35.0
    """How far rain may lean from the vertical, in degrees; layers differ by a few more."""
    length: Annotated[tuple[StreakPixels, StreakPixels], Ascending] = (12.0, 55.0)
    """Of a streak, in pixels."""
    width: Annotated[tuple[StreakPixels, StreakPixels], Ascending] = (0.9, 1.9)
    """Of a streak, in pixels."""
    density: Annotated[tuple[Share, Share], Ascending] = (0.07, 0.3)
    """Share of the picture under a layer's streaks, in the lightest rain and in the heaviest."""
    brightness: Annotated[tuple[Share, Share], Ascending] = (0.15, 0.45)
    """Light that the middle of a streak adds; 1 is white."""
    veil: Share = 0.1
    """How much of the picture the heaviest rain hides behind grey, as drops too far to be seen."""


class CropParameters(Parameters):
    """How pairs become patches."""

    size: Annotated[int, Field(ge=8, le=4096)] = 128
    """Side of a patch, in pixels; training cuts its random crops out of it."""
    stride: Annotated[int, Field(ge=1, le=4096)] = 64
    """From one patch to the next; the last one in a row or column ends at the image's edge."""
    min_contrast: Annotated[float, Field(ge=0, lt=128)] = 0.0
    """Patches whose clean grey values (0-255) deviate less than this are left out of the index."""
    validation_fraction: Annotated[float, Field(ge=0, le=0.5)] = 0.1
    """Share of the training sequences held out, where the data has no validation split itself."""
    validation_sequences: tuple[str, ...] = ()
    """Names of the training sequences to hold out, instead of a share of them."""

    @model_validator(mode="after")
    def _patches_leave_no_gap(self) -> Self:
        if self.stride > self.size:
            raise ValueError(f"stride {self.stride} must not exceed size {self.size}")
        return self
