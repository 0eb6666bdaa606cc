"""`idemnet track`."""

import click


@click.group()
def track() -> None:
    """Share trainings with others through MLflow."""


@track.command()
def push() -> None:
    """Copy this project's runs to MLFLOW_TRACKING_URI.

    Copies runs, curves, pictures, files and registered models. Existing copies are skipped, and an
    interrupted push resumes. Every `kedro run` that tracked something ends with a push.
    """
    from idemnet.tracking.push import push, push_target  # noqa: PLC0415
    from idemnet.tracking.store import configure  # noqa: PLC0415
    from idemnet.tracking.uri import explain, project_store  # noqa: PLC0415

    store = project_store()
    uri = push_target(store)
    if not store.is_file():
        raise click.ClickException(f"{store}: no runs are tracked here yet, train first")
    if not uri:
        raise click.UsageError("MLFLOW_TRACKING_URI must name the store to push to.")
    configure(patience=30)
    well = True
    try:
        for name, result, went_well in push(store, uri):
            click.echo(f"{name}: {result}")
            well = well and went_well
    except Exception as error:
        raise click.ClickException(f"MLflow error: {explain(error, uri)}") from error
    if not well:
        raise SystemExit(1)
