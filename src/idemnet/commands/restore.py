"""`idemnet restore`."""

import os
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
    network: str | None,
    passes: int,
    device: str,
    memory: str | None,
    explain: bool,
    force: bool,
) -> None:
    """Remove blur, haze or rain from pictures and videos.

    INPUT is a picture (PNG, JPEG, TIFF, WebP, BMP, HEIC, AVIF, GIF) of any size, a video (mp4, mov,
    mkv, webm), a folder of both, or a pattern. photo.jpg becomes photo_restored.jpg beside it, and
    a folder FOLDER_restored with the same files below.

    \b
      idemnet restore photo.jpg
      idemnet restore holiday/ -o mended/
      idemnet restore "scans/*.tif" --task dehaze

    Format, bit depth, transparency, metadata and colour profile are kept, and a video's sound and
    timing. What is not kept is said: HEIC and AVIF have 8 bits, CMYK becomes RGB, and of a GIF the
    first frame becomes a PNG.

    Results of earlier runs are never inputs: NAME_restored beside NAME, what lies in
    FOLDER_restored and has its source in FOLDER, and what a run with --output wrote (the hidden
    file .idemnet_results in that folder lists it). To restore a result again, copy it under another
    name.

    Inputs are never written to, existing results are skipped, and a video that was interrupted
    resumes where it was. A file that cannot be restored is named at the end, with exit code 1; the
    others are done.
    """  # noqa: D301 - \b tells click to keep the lines
    from idemnet.inference.targets import EXISTING, describe, plan_targets  # noqa: PLC0415

    if explain and passes > 1:
        raise click.UsageError("--explain looks at one pass: leave out --passes.")
    plan = plan_targets(inputs, output)
    todo = [item for item in plan.todo if force or not item.target.exists()]
    if existing := len(plan.todo) - len(todo):
        plan.skipped[EXISTING] = existing
    if plan.skipped:
        click.echo(f"skipped {describe(plan.skipped)}")
    if explain and (videos := [item for item in todo if item.is_video]):
        raise click.UsageError(f"--explain is for pictures: {videos[0].source} is a video.")
    if not todo:
        return
    from idemnet.system.resources import SMALL, TILES, keep_freed  # noqa: PLC0415

    keep_freed(TILES if memory is None else SMALL)
    restorer = load_restorer(
        task, weights, network=network, passes=passes, memory=memory, device=device
    )
    from idemnet.inference.restore_files import restore_files  # noqa: PLC0415
    from idemnet.inference.video import name_loss  # noqa: PLC0415

    for item in todo:
        if item.is_video and (loss := name_loss(item.source, item.target)):
            click.echo(loss)
    failures = restore_files(todo, restorer, click.echo, explained=explain)
    if len(todo) > 1:
        folder = os.path.commonpath([item.target.parent for item in todo]) or "."
        click.echo(f"{len(todo) - len(failures)} of {len(todo)} restored, in {folder}")
    for failure in failures:
        click.echo(f"Error: {failure}", err=True)
    if failures:
        raise SystemExit(1)
