"""01_raw/archives: everything outside the project that raw data can come from."""

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError

from idemnet.fetch.sources import SourcesOnDisk


class SourcesDataset(AbstractDataset[None, SourcesOnDisk]):
    """A handle on everything outside the project; downloaded archives are kept in one folder."""

    def __init__(self, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._archives = Path(filepath)
        self.metadata = metadata

    def load(self) -> SourcesOnDisk:
        return SourcesOnDisk(self._archives)

    def save(self, data: None) -> None:
        raise DatasetError("sources are read, never written")

    def _describe(self) -> dict[str, Any]:
        return {"archives": str(self._archives)}
