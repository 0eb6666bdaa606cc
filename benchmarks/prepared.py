"""Run the first three steps on rendered scenes, for the other scripts."""

from pathlib import Path

from idemnet.datasets.pairs import PairsDataset
from idemnet.datasets.patches import PatchesDataset
from idemnet.datasets.raw import RawDataset
from idemnet.parameters.crop import CropParameters
from idemnet.parameters.source import SceneParameters, SourceParameters
from idemnet.parameters.synthesize import BlurParameters
from idemnet.pipelines.crop import crop
from idemnet.pipelines.download import download
from idemnet.steps.data import Patches
from idemnet.tasks.deblur import synthesize_blur


def prepare_patches(
    place: Path, scene: SceneParameters, synthesis: BlurParameters, cropping: CropParameters
) -> Patches:
    """Publish everything below `place`; give the patches."""
    raw = RawDataset(str(place / "raw" / "set"))
    raw.save(download(SourceParameters(builtin=scene)))
    pairs = PairsDataset(str(place / "pairs" / "set"))
    pairs.save(synthesize_blur(raw.load(), synthesis))
    patches = PatchesDataset(str(place / "patches" / "set"))
    patches.save(crop(pairs.load(), cropping))
    return patches.load()
