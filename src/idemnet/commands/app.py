"""`idemnet app`."""

from importlib.util import find_spec

import click

from idemnet.commands.options import NAMED_WEIGHTS
from idemnet.errors import BadInputError


@click.command()
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
def app(port: int | None, compare: str | None) -> None:
    """Restore pictures on a page in the browser.

    It prints the page's address, on this computer only; Ctrl-C ends it. Drop a picture there, or
    take one of the samples. Nothing leaves this computer and nothing is kept: files are deleted
    after an hour, and when the program ends. Needs: pip install 'idemnet[app]'.
    """
    if find_spec("gradio") is None:
        raise BadInputError("the page is made with gradio: `pip install 'idemnet[app]'`")
    from idemnet.app.serve import serve  # noqa: PLC0415

    serve(compare, port)
