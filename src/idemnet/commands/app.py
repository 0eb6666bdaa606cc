"""`idemnet app`."""

from importlib.util import find_spec

import click

from idemnet.commands.options import NAMED_WEIGHTS
from idemnet.errors import BadInputError


@click.command()
@click.option(
    "--weights",
    metavar=NAMED_WEIGHTS,
    help="Your own weights, used for their task instead of the bundled ones.",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; 0.0.0.0 is all of this computer's. Anyone on the network who can "
    "reach it can use the page.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port to listen on.  [default: the first free port from 7860 on]",
)
@click.option(
    "--compare",
    metavar=NAMED_WEIGHTS,
    help="Weights to compare with, such as some trained without the constraint: their repeat curve "
    "is drawn too.",
)
def app(weights: str | None, host: str, port: int | None, compare: str | None) -> None:
    """Restore pictures in the browser.

    Prints the address of the page, which only this computer can reach unless you pass --host; stop
    it with Ctrl-C. Drop a picture there, or choose one of the samples. Nothing leaves this computer
    and nothing is kept: files are deleted after an hour, and when the program ends. Needs: pip
    install 'idemnet[app]'.
    """
    if find_spec("gradio") is None:
        raise BadInputError("gradio is not installed: pip install 'idemnet[app]'")
    from idemnet.app.serve import serve  # noqa: PLC0415

    serve(weights, compare, host, port)
