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
    help="Output folder; if INPUT is a single file, also the output file.",
)
@restorer_options
@click.option(
    "--passes",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="Number of restorations, each of the previous result.",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cuda", "mps", "cpu"]),
    default="auto",
    show_default=True,
    help="Device to compute on; auto uses a GPU if there is one.",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory limit, such as 2GB: large pictures are cut into smaller tiles, and those that "
    "need more are rejected.  [default: no limit]",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Report how much each picture changed, and write the picture after each iteration into "
    "the folder NAME_explained next to the result.",
)
@click.option("--force", is_flag=True, help="Overwrite existing results.")
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
    mkv, webm), a folder of both, or a pattern. photo.jpg becomes photo_restored.jpg, and
    a folder becomes FOLDER_restored, with the same structure.

    \b
      idemnet restore photo.jpg
      idemnet restore holiday/ -o restored/
      idemnet restore "scans/*.tif" --task dehaze

    Format, bit depth, transparency, metadata and colour profile are kept, and a video's sound and
    timing. Losses are reported: HEIC and AVIF are written with 8 bits, CMYK becomes RGB, and the
    first frame of a GIF becomes a PNG.

    Results of earlier runs are never inputs: NAME_restored next to NAME, files in FOLDER_restored
    whose source is in FOLDER, and files written by a run with --output (listed in the hidden file
    .idemnet_results in that folder). To restore a result again, copy it under another name.

    Inputs are never overwritten, existing results are skipped, and an interrupted video resumes
    where it stopped. Files that cannot be restored are listed at the end, with exit code 1; all
    others are restored.
    """  # noqa: D301 - \b tells click to keep the lines
    from idemnet.inference.targets import EXISTING, describe, plan_targets  # noqa: PLC0415

    if explain and passes > 1:
        raise click.UsageError("--explain works on a single pass: drop --passes.")
    plan = plan_targets(inputs, output)
    todo = [item for item in plan.todo if force or not item.target.exists()]
    if existing := len(plan.todo) - len(todo):
        plan.skipped[EXISTING] = existing
    for empty in plan.empty:
        click.echo(f"{empty}: contains no pictures or videos")
    if plan.skipped:
        click.echo(f"skipped {describe(plan.skipped)}")
    if explain and (videos := [item for item in todo if item.is_video]):
        raise click.UsageError(f"--explain is for pictures: {videos[0].source} is a video.")
    if not todo:
        return
    if memory is not None:
        from idemnet.system.resources import return_freed  # noqa: PLC0415

        return_freed()
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
