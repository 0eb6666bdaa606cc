"""`idemnet app`."""

from importlib.util import find_spec

import click

from idemnet.commands.options import NAMED_WEIGHTS
from idemnet.errors import BadInputError


@click.command()
@click.option(
    "--weights",
    metavar=NAMED_WEIGHTS,
    help="Weights of your own for their task, instead of those that come with idemnet.",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Address of this computer to listen on; 0.0.0.0 is all of them. Anyone on the network who "
    "can reach it can use the page.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Where it listens.  [default: the first free port from 7860 on]",
)
@click.option(
    "--compare",
    metavar=NAMED_WEIGHTS,
    help="Weights whose repeat curve is drawn beside, such as some trained without the constraint.",
)
def app(weights: str | None, host: str, port: int | None, compare: str | None) -> None:
    """Restore pictures on a page in the browser.

    It prints the page's address, on this computer only unless you give --host; Ctrl-C ends it. Drop
    a picture there, or take one of the samples. Nothing leaves this computer and nothing is kept:
    files are deleted after an hour, and when the program ends. Needs: pip install 'idemnet[app]'.
    """
    if find_spec("gradio") is None:
        raise BadInputError("the page is made with gradio: `pip install 'idemnet[app]'`")
    from idemnet.app.serve import serve  # noqa: PLC0415

    serve(weights, compare, host, port)
