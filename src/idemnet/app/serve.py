"""Serving the page: on this computer only, silent to the outside, leaving nothing behind."""

import os
import signal
import threading
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from idemnet.app.samples import make_samples
from idemnet.datasets.find_weights import find_weights
from idemnet.errors import BadInputError
from idemnet.machine import TILES, keep_freed
from idemnet.restorer import Restorer
from idemnet.tasks import TASKS

HOST = "127.0.0.1"


def serve(compare: str | None, port: int | None) -> None:
    """Serve the page until somebody ends the program.

    Raises:
        BadInputError: If there are no such weights to compare with, or the port is taken.
    """
    keep_freed(TILES)
    restorers = load_restorers()
    compared = None if compare is None else Restorer.load(compare)
    if compared is not None and compared.card["task"] not in restorers:
        raise BadInputError(f"there are no weights for '{compared.card['task']}' to compare with")
    for name in ("SIGTERM", "SIGHUP"):  # so that `with` puts things away, as after Ctrl-C
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    with suppress(KeyboardInterrupt), TemporaryDirectory(prefix="idemnet-app-") as folder:
        _serve(restorers, compared, port, Path(folder))
    # A thread that is still restoring would hold up the interpreter's end, or crash it.
    os._exit(0)


def _read(name: str) -> str:
    return (files("idemnet") / name).read_text(encoding="utf-8")


def load_restorers() -> dict[str, Restorer]:
    """Load the weights of every task that has some; some are shipped."""
    restorers = {}
    for task in TASKS:
        with suppress(BadInputError):
            restorers[task] = Restorer.load(find_weights(task))
    return restorers


def _serve(
    restorers: dict[str, Restorer], compared: Restorer | None, port: int | None, folder: Path
) -> None:
    samples = folder / "samples"
    samples.mkdir()
    # gradio reads these when it is imported.
    os.environ["GRADIO_TEMP_DIR"] = str(folder)
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    # It asks its own server whether it is there, which no proxy would know.
    os.environ["NO_PROXY"] = f"{HOST},{os.environ.get('NO_PROXY', '')}"
    from starlette.middleware import Middleware  # noqa: PLC0415
    from starlette.middleware.trustedhost import TrustedHostMiddleware  # noqa: PLC0415

    from idemnet.app.page import Page  # noqa: PLC0415
    from idemnet.app.restoring import MAX_MEGABYTES  # noqa: PLC0415
    from idemnet.app.theme import THEME  # noqa: PLC0415

    page = Page(restorers, compared, make_samples(samples, restorers)).blocks
    try:
        page.launch(
            server_name=HOST,
            server_port=port,
            share=False,
            quiet=True,
            prevent_thread_lock=True,
            ssr_mode=False,
            run_history=False,
            footer_links=[],
            max_file_size=f"{MAX_MEGABYTES}mb",
            theme=THEME,
            css=_read("reporting/slider.css") + _read("app/page.css"),
            # Pages of other sites must not get here by a name of theirs that leads to this host.
            app_kwargs={
                "middleware": [
                    Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
                ],
                "openapi_url": None,
            },
        )
    except OSError as error:
        raise BadInputError(f"port {port} is taken: give another one, or none") from error
    click.echo(f"The page is at {page.local_url} until you press Ctrl-C.")
    threading.Event().wait()
