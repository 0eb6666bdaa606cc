"""`idemnet restore`."""

from pathlib import Path

import click

from idemnet.commands.options import load_restorer, restorer_options


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for the results; where INPUT is one file, also the result's name.",
)
@restorer_options
@click.option(
    "--passes",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="How often to restore, each time what came out before.",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "mps", "cpu"]),
    default="auto",
    show_default=True,
    help="Where to compute; auto takes a GPU where there is one.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="What the program may take, such as 2GB: large pictures are cut into smaller tiles, and "
    "those that need more are refused.  [default: no limit]",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Say how much changed in each picture, and write what each iteration did to it into the "
    "folder NAME_explained beside the result.",
)
@click.option("--force", is_flag=True, help="Write over results that are there.")
def restore(
    *,
    inputs: tuple[str, ...],
    output: Path | None,
    task: str,
    weights: str | None,
    passes: int,
    device: str,
    memory: str | None,
    explain: bool,
    force: bool,
) -> None:
    """Remove blur, haze or rain from pictures and videos.

    INPUT is a picture (PNG, JPEG, TIFF, WebP, BMP) of any size, a video (mp4, mov, mkv, webm), a
    folder of both, or a pattern. photo.jpg becomes photo_restored.jpg beside it, and a folder
    FOLDER_restored with the same files below.

    \b
      idemnet restore photo.jpg
      idemnet restore holiday/ -o mended/
      idemnet restore "scans/*.tif" --task dehaze

    Bit depth, transparency, metadata and colour profile are kept, and a video's sound and timing.
    Inputs are never written to, results that are there are left alone, and a video that was
    interrupted goes on where it was. A file that cannot be restored is named at the end, with exit
    code 1; the others are done.
    """  # noqa: D301 - \b tells click to keep the lines
    from idemnet.errands import plan_errands  # noqa: PLC0415

    if explain and passes > 1:
        raise click.UsageError("--explain looks at one pass: leave out --passes.")
    errands = plan_errands(inputs, output)
    todo = [errand for errand in errands if force or not errand.target.exists()]
    if len(todo) < len(errands):
        click.echo(f"left alone, as they are there: {len(errands) - len(todo)} (see --force)")
    if not todo:
        return
    from idemnet.datasets.clip import name_loss  # noqa: PLC0415
    from idemnet.machine import SMALL, TILES, keep_freed  # noqa: PLC0415
    from idemnet.restore_files import restore_files  # noqa: PLC0415

    keep_freed(TILES if memory is None else SMALL)
    restorer = load_restorer(task, weights, passes=passes, memory=memory, device=device)
    for errand in todo:
        if errand.is_video and (loss := name_loss(errand.source, errand.target)):
            click.echo(loss)
    failures = restore_files(todo, restorer, click.echo, explained=explain)
    if len(todo) > 1:
        click.echo(f"{len(todo) - len(failures)} of {len(todo)} restored")
    for failure in failures:
        click.echo(f"Error: {failure}", err=True)
    if failures:
        raise SystemExit(1)
