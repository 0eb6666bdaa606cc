"""`idemnet`: what is done beside running pipelines, for which there is `kedro run`."""

from pathlib import Path

import click


@click.group(name="idemnet", context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Image restoration networks whose second pass changes nothing."""


@main.group()
def track() -> None:
    """Training runs in MLflow."""


@track.command()
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default="data/06_models/runs",
    show_default=True,
    help="Folder below which journals are looked for.",
)
def replay(root: Path) -> None:
    """Copy to MLflow what it missed while it could not be reached.

    To where each run was meant to go, or to MLFLOW_TRACKING_URI.
    """
    # Inside, so that `idemnet --help` is there at once.
    from idemnet.datasets.journal import JOURNAL  # noqa: PLC0415
    from idemnet.datasets.mlflow_store import Progress, configure, upload  # noqa: PLC0415
    from idemnet.datasets.mlflow_uri import explain, tracking_uri  # noqa: PLC0415
    from idemnet.datasets.tracking import project_root  # noqa: PLC0415

    configure(patience=30)
    failed = False
    for journal in sorted(root.rglob(JOURNAL)):
        progress = Progress(journal.parent)
        uri = tracking_uri(progress.uri, project_root(root))
        try:
            lines = upload(journal.parent, uri, progress.experiment)
        except Exception as error:  # of any kind: the next one may go well
            failed = True
            result = f"MLflow says: {explain(error, uri)}"
        else:
            result = f"copied {lines} lines" if lines else "nothing to do"
        click.echo(f"{journal.parent.relative_to(root)}: {result}")
    if failed:
        raise SystemExit(1)
