"""`idemnet export`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from idemnet.commands.options import load_restorer, restorer_options
from idemnet.errors import BadInputError
from idemnet.storage.atomic import write_atomic

if TYPE_CHECKING:
    from idemnet.inference.export import Format


@click.command()
@click.option(
    "--format",
    "kind",
    type=click.Choice(["onnx", "pt2"]),
    required=True,
    help="onnx for any runtime, or pt2, torch's own format.",
)
@restorer_options
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write.  [default: idemnet-TASK.onnx or .pt2]",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def export(
    *,
    kind: "Format",
    task: str,
    weights: str | None,
    network: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Export a network as a program that runs without idemnet.

    \b
      idemnet export --format onnx
      idemnet export --format pt2 --task dehaze -o haze.pt2

    The program takes `image`, (N, 3, H, W) of any size, 32-bit floats, RGB from 0 to 1, and
    returns `restored`, not clipped. It is first run on several sizes; if the results differ from
    the network's, nothing is written. ONNX needs: pip install 'idemnet[export]'.
    """  # noqa: D301 - \b tells click to keep the lines
    output = output or Path(f"idemnet-{task}.{kind}")
    if output.exists() and not force:
        raise BadInputError(f"{output}: already exists (use --force to overwrite it)")
    restorer = load_restorer(task, weights, network=network, device="cpu")
    from idemnet.inference.export import export_network  # noqa: PLC0415

    card = restorer.card
    about = {
        "task": task,
        "sha256": card["sha256"],
        "description": f"{card['architecture']} network for {task}, "
        f"{card['parameters']:,} parameters, by idemnet {card['idemnet']}",
    }
    program = export_network(restorer.model, kind, about)
    output.parent.mkdir(parents=True, exist_ok=True)
    size, _ = write_atomic(output, [program.content])
    click.echo(
        f"{output}: {size / 1e6:.1f} MB, differs from the network by at most "
        f"{program.difference:.1e}"
    )
