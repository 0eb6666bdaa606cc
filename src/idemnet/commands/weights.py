"""`idemnet weights`."""

import json
from pathlib import Path
from typing import Any

import click

from idemnet.errors import BadInputError
from idemnet.inference.model_card import write_model_card


@click.group()
def weights() -> None:
    """Import weights from elsewhere, or publish them."""


@weights.command(name="import")
@click.argument("model", metavar="dmphn|PACKAGE.MODULE:CLASS")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "--output",
    "--to",
    type=click.Path(file_okay=False, path_type=Path),
    help="Output folder; existing weights are replaced.  [default: data/06_models/imported/NAME]",
)
@click.option(
    "--stack",
    type=click.IntRange(min=1),
    help="dmphn: number of stacks to read.  [default: all that have files]",
)
@click.option("--arguments", metavar="JSON", help="Arguments of the class, '{\"width\": 32}'.")
def import_(
    model: str, path: Path, output: Path | None, stack: int | None, arguments: str | None
) -> None:
    """Import weights released by the authors of another network.

    For dmphn, PATH is the folder with the files as their authors publish them: encoder_lv1.pkl to
    decoder_lv4.pkl, or encoder_s1_lv1.pkl and so on for stacks. For another network, name its
    class, whose code is run, and the released .pth file (docs/peers.md). Files are read as tensors,
    never as code. The result is used like weights trained here: `idemnet restore --weights`,
    a training's initialize_from, a study's weights.
    """
    from idemnet.inference.import_weights import import_dmphn, import_network  # noqa: PLC0415

    own = ":" in model
    if not own and model != "dmphn":
        raise click.UsageError(f"'{model}' is neither dmphn nor PACKAGE.MODULE:CLASS")
    if (stack and own) or (arguments and not own):
        raise click.UsageError("--stack is for dmphn, --arguments for other networks")
    name = model.partition(":")[2].lower() if own else model
    output = output or Path("data/06_models/imported", name)
    if own:
        import_network(model, path, output, _parse_arguments(arguments or "{}"))
    else:
        import_dmphn(path, output, stack=stack)
    click.echo(f"{output / 'weights.safetensors'}: {model}, with its card")


def _parse_arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise click.UsageError("--arguments must be a JSON object, such as '{\"width\": 32}'")
    return arguments


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
