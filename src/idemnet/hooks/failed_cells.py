"""Fail the run of a study in which cells failed, after everything else is published."""

import click
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from idemnet.steps.study import StudyResults


class FailedCellsHooks:
    """Names the failed cells of a study, and lets its command exit with 1."""

    @hook_impl(trylast=True)  # other hooks release locks and record the run
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        for name in pipeline.all_outputs():
            if ".study_" in name:
                check_cells(catalog.load(name))


def check_cells(results: StudyResults) -> None:
    """Raise an error if a cell failed.

    Raises:
        ClickException: Naming the cells that failed.
    """
    failed = [outcome for outcome in results.outcomes if outcome.metrics is None]
    if failed:
        names = ", ".join(f"{outcome.cell} (seed {outcome.seed})" for outcome in failed)
        raise click.ClickException(
            f"{len(failed)} of {len(results.outcomes)} cells failed: {names}; run the same "
            "command to retry them"
        )
