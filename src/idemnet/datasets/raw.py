"""01_raw: frame sequences, or the images of a data set of pairs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path, PurePosixPath

from idemnet.datasets.folder import PreparedDataset
from idemnet.imaging.image import FrameSequence, Image, Split
from idemnet.media.frames import Video
from idemnet.media.image_files import DepthFile, ImageFile
from idemnet.media.preview import ImagePreview, contact_sheet
from idemnet.steps.data import RawData
from idemnet.steps.layouts import Place, place_files
from idemnet.steps.mix import Mix
from idemnet.storage.manifest import Manifest


@dataclass(frozen=True)
class ImageSequence:
    """A folder of frames as a sequence."""

    split: Split
    name: str
    images: tuple[ImageFile, ...]

    @cached_property
    def frames(self) -> list[str]:
        return [PurePosixPath(image.name).stem for image in self.images]

    def size(self) -> tuple[int, int]:
        return self.images[0].size()

    def read(self, start: int, stop: int) -> Iterator[Image]:
        for image in self.images[start:stop]:
            yield image()


class RawDataset(PreparedDataset[RawData]):
    """What `download` publishes."""

    def read(self, _: Path, manifest: Manifest) -> RawData:
        layout = manifest.about["layout"]
        images = image_files(manifest)
        sequences: list[FrameSequence] = []
        depths: dict[tuple[Split, str], DepthFile] = {}
        if layout == "videos":
            sequences = [
                Video(manifest.root / video.pop("file"), **video)
                for video in map(dict, manifest.about["videos"])
            ]
        elif layout == "frames":
            places = place_files(images, "frames", str(manifest.root))
            sequences = _sequences(images, places)
            depths = {
                (place.split, place.sequence): DepthFile(images[place.name])
                for place in places
                if place.role == "depth"
            }
        name = manifest.about.get("dataset", "")
        return RawData(manifest.fingerprint, layout, sequences, images, manifest, depths, name)

    def join(self, manifest: Manifest, mix: Mix[RawData]) -> RawData:
        parts = [part.data for part in mix.parts.values()]
        sequences = [one for part in parts for one in part.sequences]
        images = {name: image for part in parts for name, image in part.images.items()}
        return RawData(manifest.fingerprint, "mix", sequences, images, manifest, mix=mix)

    def preview(self) -> ImagePreview:
        raw = self.load()
        if raw.sequences:
            chosen = raw.sequences[:: max(1, len(raw.sequences) // 6)][:6]
            return contact_sheet([next(iter(one.read(0, 1))) for one in chosen])
        return contact_sheet([image() for image in list(raw.images.values())[:6]])


def image_files(manifest: Manifest) -> Mapping[str, ImageFile]:
    """Return a handle for every file in a manifest."""
    return {
        name: ImageFile(manifest.root / name, name, size, sha256)
        for name, (size, sha256) in manifest.files.items()
    }


def _sequences(images: Mapping[str, ImageFile], places: Sequence[Place]) -> list[FrameSequence]:
    frames = [place for place in places if place.role == "frame"]
    return [
        ImageSequence(split, sequence, tuple(images[frame.name] for frame in group))
        for (split, sequence), group in groupby(frames, lambda place: (place.split, place.sequence))
    ]
