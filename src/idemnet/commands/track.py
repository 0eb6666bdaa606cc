"""`idemnet track`."""

from pathlib import Path

import click


@click.group()
def track() -> None:
    """Keep MLflow up to date with trainings."""


@track.command()
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default="data/06_models/runs",
    show_default=True,
    help="Folder below which trainings have their journals.",
)
def replay(root: Path) -> None:
    """Copy to MLflow what it missed while it could not be reached.

    Trainings go on without MLflow and keep a journal; this copies the rest of it to the server that
    each was meant for, or to MLFLOW_TRACKING_URI. What is there already is not copied again.
    """
    from idemnet.tracking.journal import JOURNAL  # noqa: PLC0415
    from idemnet.tracking.store import Progress, configure, upload  # noqa: PLC0415
    from idemnet.tracking.tracker import project_root  # noqa: PLC0415
    from idemnet.tracking.uri import explain, tracking_uri  # noqa: PLC0415

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
