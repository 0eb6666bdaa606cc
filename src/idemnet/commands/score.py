"""`idemnet score`."""

import json
from pathlib import Path

import click

from idemnet.commands.options import PROTOCOLS
from idemnet.tasks import task_names

EXISTING = click.Path(exists=True, path_type=Path)


@click.command()
@click.argument("restored", type=EXISTING)
@click.argument("reference", type=EXISTING)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    required=True,
    help="Scoring protocol of the data set; docs/scores.md has a table.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the scores of each image.")
@click.option("--each", is_flag=True, help="Print the scores of each image.")
@click.option(
    "--task", type=click.Choice(task_names()), help="Reject a protocol that is not this task's."
)
@click.option("--force", is_flag=True, help="Allow a protocol that is not the task's.")
@click.option(
    "--crop-reference",
    type=click.IntRange(min=0),
    default=0,
    metavar="PIXELS",
    help="Crop this much from each side of references that are larger by exactly that; 10 for "
    "RESIDE.",
)
def score(
    *,
    restored: Path,
    reference: Path,
    protocol: str,
    as_json: bool,
    each: bool,
    task: str | None,
    force: bool,
    crop_reference: int,
) -> None:
    """Score restored images against sharp ones, by PSNR and SSIM.

    \b
      idemnet score results/ GOPRO_Large/test_sharp/ --protocol gopro

    Works for results of any method. RESTORED and REFERENCE are two folders, whose images are paired
    by path without suffix, or two files. Images that are unpaired, unreadable or of another
    size are listed, and then nothing is scored. Grey counts as three equal channels; 16-bit grey is
    rounded to 8 bits, 16-bit colour and transparency are rejected. PSNR is capped at 100 dB,
    the score of identical images.
    """  # noqa: D301 - \b tells click to keep the lines
    from idemnet.evaluation.protocols import PROTOCOLS, check_fits  # noqa: PLC0415
    from idemnet.evaluation.scoring import CROPPING, pair_by_stem, score_pairs  # noqa: PLC0415
    from idemnet.media.find import find_pictures  # noqa: PLC0415
    from idemnet.system.progress import count_items  # noqa: PLC0415
    from idemnet.system.resources import cores  # noqa: PLC0415

    if restored.is_file() != reference.is_file():
        raise click.UsageError("RESTORED and REFERENCE must be two folders, or two files.")
    if crop_reference and protocol not in CROPPING:
        raise click.UsageError(f"--crop-reference is for {' and '.join(CROPPING)} only.")
    if task is not None:
        check_fits(protocol, task, force)
    ours, theirs = find_pictures(restored), find_pictures(reference)
    if restored.is_file():  # two files are a pair, whatever their names
        theirs = [(ours[0][0], theirs[0][1])]
    pairs, faults = pair_by_stem(ours, theirs)
    with count_items("score", len(pairs)) as advance:
        scores = score_pairs(
            pairs, faults, PROTOCOLS[protocol],
            crop=crop_reference, threads=cores(), advance=advance,
        )  # fmt: skip
    click.echo(json.dumps(scores.as_json(), indent=2) if as_json else scores.as_text(each=each))
