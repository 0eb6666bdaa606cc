"""08_reporting: reports for people and for other programs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from idemnet.datasets.folder import PublishedDataset
from idemnet.media.preview import HTMLPreview, show_picture
from idemnet.steps.data import Report
from idemnet.steps.metrics import Metrics
from idemnet.steps.plan import Plan, Recipe
from idemnet.steps.publish import publish
from idemnet.storage.atomic import path_inside, write_atomic
from idemnet.storage.manifest import FileEntry


class ReportDataset(PublishedDataset[Report]):
    """Output of `report`: metrics.json, timing.json, report.html, its plots and tables."""

    def load(self) -> Report:
        manifest = self.read_manifest()
        files = {name: (self._folder / name).read_bytes for name in manifest.files}
        metrics = Metrics.from_files(lambda name: files[name]())
        return Report(manifest.fingerprint, manifest.about["run"], metrics, files)

    def save(self, data: Recipe) -> None:
        publish(self._folder, data, write_files, list_files)

    def preview(self) -> HTMLPreview:
        """Show the scores and every plot."""
        report = self.load()
        metrics = report.metrics
        lines = [
            f"{metrics.images} test images of {metrics.dataset}, protocol {metrics.protocol}\n",
            "| scores | before | restored |\n|---|---|---|",
            f"| PSNR, dB | {metrics.input.psnr:.2f} | {metrics.restored.psnr:.2f} |",
            f"| SSIM | {metrics.input.similarity:.4f} | {metrics.restored.similarity:.4f} |\n",
            *(show_picture(report.files[name](), "png") for name in sorted(report.files)
              if name.endswith(".png")),
        ]  # fmt: skip
        return HTMLPreview("\n".join(lines))


def write_files(folder: Path, _: str, files: Mapping[str, bytes]) -> Mapping[str, FileEntry]:
    """Write files by name."""
    return {
        name: write_atomic(path_inside(folder, name), [content]) for name, content in files.items()
    }


def list_files(_: Path, items: Mapping[str, Any], __: Plan) -> Mapping[str, FileEntry]:
    """Return the names of the files."""
    return {name: entry for files in items.values() for name, entry in files.items()}
