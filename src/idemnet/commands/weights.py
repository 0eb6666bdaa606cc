"""`idemnet weights`."""

from pathlib import Path

import click


@click.group()
def weights() -> None:
    """Take over weights from elsewhere."""


@weights.command(name="import")
@click.argument("model", type=click.Choice(["dmphn"]))
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default="data/06_models/imported/dmphn",
    show_default=True,
    help="Folder to write; weights that are there are replaced.",
)
@click.option(
    "--stack",
    type=click.IntRange(min=1),
    help="Stacks to read; by default as many as there are files for.",
)
def import_(model: str, folder: Path, output: Path, stack: int | None) -> None:
    """Take over weights that the authors of another network have released.

    FOLDER holds the files as their authors publish them; for dmphn encoder_lv1.pkl to
    decoder_lv4.pkl, or encoder_s1_lv1.pkl and so on for stacks. They are read as tensors, never as
    code. What is written is used as weights that were trained here: `idemnet restore --weights`, a
    training's initialize_from, a study's weights.
    """
    from idemnet.inference.import_weights import import_dmphn  # noqa: PLC0415

    import_dmphn(folder, output, stack=stack)
    click.echo(f"{output / 'weights.safetensors'}: {model}, with its card")
