"""03_primary: degraded images and the clean ones they belong to."""

from collections.abc import Mapping
from typing import Any

from idemnet.datasets.folder import PublishedDataset
from idemnet.datasets.raw import image_files
from idemnet.imaging.image import StoredImage
from idemnet.media.image_files import CroppedImage, ImageFile
from idemnet.media.preview import ImagePreview, contact_sheet
from idemnet.steps.data import Pair, Pairs


class PairsDataset(PublishedDataset[Pairs]):
    """What `synthesize` publishes."""

    def load(self) -> Pairs:
        manifest = self.read_manifest()
        images = image_files(manifest)
        pairs = [_pair(row, images) for row in manifest.about["pairs"]]
        return Pairs(manifest.fingerprint, pairs, self._folder.name)

    def preview(self) -> ImagePreview:
        """Show three pairs, degraded above clean."""
        pairs = self.load().pairs
        widest = max(pair.level for pair in pairs)
        shown = [pair for pair in pairs if pair.level == widest]
        shown = shown[:: max(1, len(shown) // 3)][:3]
        images = [pair.degraded() for pair in shown] + [pair.clean() for pair in shown]
        return contact_sheet(images, columns=len(shown))


def _pair(row: Mapping[str, Any], images: Mapping[str, ImageFile]) -> Pair:
    clean: StoredImage = images[row["clean"]]
    if row.get("border"):
        clean = CroppedImage(clean, row["border"])
    about = {name: value for name, value in row.items() if name != "border"}
    return Pair(**{**about, "degraded": images[row["degraded"]], "clean": clean})
