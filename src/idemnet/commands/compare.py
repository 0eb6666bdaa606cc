"""`idemnet compare`."""

from pathlib import Path

import click

from idemnet.storage.atomic import write_atomic


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default="comparison.svg",
    show_default=True,
    help="File for the plot of the repeat curves: .svg, .png or .pdf.",
)
def compare(runs: tuple[str, ...], output: Path) -> None:
    """Compare trainings: scores, settings, repeat curves.

    \b
      idemnet compare deblur-1c5f0a2e deblur-8d01b77c
      idemnet compare dataset=builtin -o curves.png

    RUN is a run's name, the start of its MLflow run ID, or a tag as key=value, which selects all
    runs with it. Runs are looked up in MLFLOW_TRACKING_URI, or in the project's own store.
    """  # noqa: D301 - \b tells click to keep the lines
    from idemnet.evaluation.scores import align_columns  # noqa: PLC0415
    from idemnet.reporting.comparison import (  # noqa: PLC0415
        draw_repeat_curves,
        tabulate,
        warn,
    )
    from idemnet.tracking.query import find_runs  # noqa: PLC0415
    from idemnet.tracking.uri import tracking_uri  # noqa: PLC0415

    kind = output.suffix.lstrip(".").lower()
    if kind not in ("svg", "png", "pdf"):
        raise click.UsageError(f"--output must end in .svg, .png or .pdf, not '{output.suffix}'.")
    found = find_runs(tracking_uri(), runs)
    click.echo("\n".join(align_columns(tabulate(found))))
    if reason := warn(found):
        click.echo(reason, err=True)
    write_atomic(output, [draw_repeat_curves(found, kind)])
    click.echo(f"repeat curves: {output}")
