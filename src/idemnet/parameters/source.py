"""Parameters of download: where raw data comes from."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from idemnet.parameters.base import Parameters

Pixels = Annotated[int, Field(ge=1, le=32768)]

Kind = Literal["builtin", "archive", "folder", "videos"]

FolderName = Annotated[str, Field(pattern=r"^\w[\w-]*$")]


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
    """Folder of further photographs to train on, in addition to those of installed packages."""


class ArchiveParameters(Parameters):
    """A data set that is published as one zip file."""

    addresses: tuple[str, ...] = ()
    """Tried in order: https:// or http://, hf://datasets/OWNER/NAME[@REVISION]/PATH on the Hugging
    Face Hub, or the path of a zip that is already here."""
    folder: str = Field("data/01_raw/archives", exclude=True)
    """Where downloaded archives are kept; relative to the project."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """Of the zip file. If null, the Hub's counts; elsewhere the first download's is recorded."""
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    """How often a broken transfer is taken up again, for each address."""
    timeout: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Seconds without a byte after which a transfer counts as broken."""
    unpacked_gigabytes: Annotated[float, Field(gt=0)] = 100.0
    """An archive that would unpack to more is rejected."""


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


class OneSourceParameters(Parameters):
    """Everything that one data set can come from."""

    layout: Literal["frames", "gopro", "reside", "flat"] = "frames"
    """Of an archive or folder. `frames`: SPLIT/SEQUENCE/*.png, filmed frames; `gopro`:
    SPLIT/SEQUENCE/{blur,blur_gamma,sharp}/*.png; `reside`: [SPLIT/]{hazy,clear}/*, many
    hazy ones to a clear one; `flat`: [SPLIT/][SET/]{input,target}/*."""
    builtin: SceneParameters = SceneParameters()
    archive: ArchiveParameters = ArchiveParameters()
    folder: FolderParameters = FolderParameters()
    videos: VideosParameters = VideosParameters()
    expected: StructureParameters = StructureParameters()
    licence: str = Field("", exclude=True)
    """Recorded with the downloaded data, and published with weights that are trained on it."""
    credit: str = Field("", exclude=True)
    """Whom the licence asks to name; likewise."""


class MixedSourceParameters(OneSourceParameters):
    """One of several data sets that are trained on together."""

    kind: Kind = "builtin"
    """Which of the groups is used."""
    weight: Annotated[float, Field(gt=0)] = 1.0
    """Its share of the training patches, against the weights of the others."""
    synthesize: dict[str, Any] = {}
    """What of the task's `synthesize` is set differently for it."""
    crop: dict[str, Any] = {}
    """What of the task's `crop` is set differently for it; all patches have the same size."""


class SourceParameters(OneSourceParameters):
    """Where a task's raw data comes from."""

    name: str = ""
    """What reports call the data set; empty: as its folder (globals.yml)."""
    kind: Kind | Literal["mix"] = "builtin"
    """Which of the groups is used; `mix`: several data sets, side by side."""
    mix: dict[FolderName, MixedSourceParameters] = {}
    """By name, which is that of its folder, and in reports."""

    @model_validator(mode="after")
    def _a_mix_has_parts(self) -> Self:
        if self.kind == "mix" and not self.mix:
            raise ValueError("kind is 'mix', so mix must name the sources")
        return self
