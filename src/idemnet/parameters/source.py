"""Parameters of download: where raw data comes from."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from idemnet.parameters.base import Parameters

Pixels = Annotated[int, Field(ge=1, le=32768)]


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
