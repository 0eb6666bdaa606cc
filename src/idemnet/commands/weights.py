"""`idemnet weights`."""

from pathlib import Path

import click

from idemnet.errors import BadInputError


@click.group()
def weights() -> None:
    """Import weights from elsewhere, or publish them."""


@weights.command(name="import")
@click.argument("model", type=click.Choice(["dmphn"]))
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default="data/06_models/imported/dmphn",
    show_default=True,
    help="Output folder; existing weights are replaced.",
)
@click.option(
    "--stack",
    type=click.IntRange(min=1),
    help="Number of stacks to read.  [default: all that have files]",
)
def import_(model: str, folder: Path, output: Path, stack: int | None) -> None:
    """Import weights released by the authors of another network.

    FOLDER holds the files as their authors publish them; for dmphn encoder_lv1.pkl to
    decoder_lv4.pkl, or encoder_s1_lv1.pkl and so on for stacks. They are read as tensors, never as
    code. The result is used like weights trained here: `idemnet restore --weights`, a
    training's initialize_from, a study's weights.
    """
    from idemnet.inference.import_weights import import_dmphn  # noqa: PLC0415

    import_dmphn(folder, output, stack=stack)
    click.echo(f"{output / 'weights.safetensors'}: {model}, with its card")


@weights.command
@click.argument("name")
@click.option("--to", "repository", metavar="OWNER/NAME", required=True, help="Model repository.")
def push(name: str, repository: str) -> None:
    """Publish weights on the Hugging Face Hub, for `--weights hf://OWNER/NAME`.

    NAME is a task, a folder such as data/06_models/deblur/builtin, or mlflow:NAME@ALIAS. Uploads
    the weights, their card, a README generated from it, and a picture restored.jpg, .png or .webp
    if there is one next to them. If the project has evaluated these weights, the card gets the
    scores, and the picture is a test image before and after. Log in first: `hf auth login`, or set
    HF_TOKEN.
    """
    from idemnet.commands.evaluated import add_evaluation  # noqa: PLC0415
    from idemnet.fetch.hub import upload_files  # noqa: PLC0415
    from idemnet.inference.find_weights import find_weights  # noqa: PLC0415
    from idemnet.inference.model_card import write_model_card  # noqa: PLC0415
    from idemnet.inference.weights import CARD, WEIGHTS, read_weights, to_json  # noqa: PLC0415

    path = find_weights(name)
    packed, card = read_weights(path)
    if "task" not in card:
        raise BadInputError(f"{path}: the card does not say which task they are for")
    sample = add_evaluation(path, card)
    pictures = [path.with_name(f"restored.{suffix}") for suffix in ("jpg", "png", "webp")]
    files = {found.name: found.read_bytes() for found in pictures if found.is_file()}
    if sample and not files:
        files["restored.jpg"] = sample
    page = write_model_card(card, repository, next(iter(files), None))
    files |= {WEIGHTS: packed.content, CARD: to_json(card), "README.md": page.encode()}
    click.echo(upload_files(repository, files, f"Weights for {card['task']}"))
