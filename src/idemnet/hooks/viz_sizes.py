"""Let kedro-viz show the size of each data set."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from idemnet.errors import BadInputError
from idemnet.storage.atomic import write_atomic


class VizSizesHooks:
    """Adds sizes of folders to .viz/stats.json; kedro-viz itself measures only tables.

    It writes the file anew after each run, with that run's data sets; earlier ones are kept here.
    """

    def __init__(self) -> None:
        self._file, self._before = Path(), dict[str, Any]()

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        self._file = context.project_path / ".viz/stats.json"

    @hook_impl
    def before_pipeline_run(self) -> None:
        self._before = self._read()

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        from idemnet.datasets.folder import Folder  # noqa: PLC0415  # not to list pipelines

        if not self._file.exists():  # no kedro-viz
            return
        datasets = {name: catalog.get(name) for name in pipeline.datasets()}
        with suppress(OSError, BadInputError):  # whatever it is, the run itself succeeded
            sizes = {
                name: {"file_size": one.size()}
                for name, one in datasets.items()
                if isinstance(one, Folder)
            }
            content = {**self._before, **self._read(), **sizes}
            write_atomic(self._file, [json.dumps(content).encode()])

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return found
