"""03_primary: pairs of degraded and clean images."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from idemnet.datasets.folder import PreparedDataset
from idemnet.datasets.raw import image_files
from idemnet.imaging.image import StoredImage
from idemnet.media.image_files import CroppedImage, ImageFile
from idemnet.media.preview import ImagePreview, contact_sheet
from idemnet.steps.data import Pair, Pairs
from idemnet.steps.mix import Mix
from idemnet.storage.manifest import Manifest


class PairsDataset(PreparedDataset[Pairs]):
    """What `synthesize` publishes."""

    def read(self, folder: Path, manifest: Manifest) -> Pairs:
        images = image_files(manifest)
        pairs = [_pair(row, images) for row in manifest.about["pairs"]]
        name = manifest.about.get("dataset", folder.name)
        return Pairs(manifest.fingerprint, pairs, name)

    def join(self, manifest: Manifest, mix: Mix[Pairs]) -> Pairs:
        pairs = [
            replace(pair, sequence=f"{name}/{pair.sequence}")
            for name, part in mix.parts.items()
            for pair in part.data.pairs
        ]
        return Pairs(manifest.fingerprint, pairs, mix.dataset, mix)

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
