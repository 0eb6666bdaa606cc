"""Serve the page: by default to this computer only, offline, without leaving files behind."""

import os
import signal
import socket
import threading
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from ipaddress import IPv4Address
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from idemnet.app.samples import make_samples
from idemnet.errors import BadInputError
from idemnet.inference.find_weights import find_weights
from idemnet.inference.restorer import Restorer
from idemnet.tasks import task_names

HOST = "127.0.0.1"


def serve(
    weights: str | None = None,
    compare: str | None = None,
    host: str = HOST,
    port: int | None = None,
) -> None:
    """Serve the page until the program is stopped.

    Args:
        weights: Weights to use for their task instead of the default ones.
        compare: Weights whose repeat curve is drawn for comparison.
        host: Address or name of this computer to listen on.
        port: Port to listen on; None: the first free one from 7860 on.

    Raises:
        BadInputError: If there are no such weights, the host is not this computer's, or the port
            is taken.
    """
    restorers = load_restorers(weights)
    compared = None if compare is None else Restorer.load(compare)
    if compared is not None and compared.card["task"] not in restorers:
        raise BadInputError(f"no weights for task '{compared.card['task']}' to compare with")
    for name in ("SIGTERM", "SIGHUP"):  # raise KeyboardInterrupt, so that context managers clean up
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    with suppress(KeyboardInterrupt), TemporaryDirectory(prefix="idemnet-app-") as folder:
        _serve(restorers, compared, host, port, Path(folder))
    # A thread that is still restoring would delay the interpreter's exit, or crash it.
    os._exit(0)


def _read(name: str) -> str:
    return (files("idemnet") / name).read_text(encoding="utf-8")


def find_address(host: str) -> IPv4Address:
    """Resolve a name or address of this computer.

    Raises:
        BadInputError: If it is not one of this computer's, or not of IPv4.
    """
    try:
        address = socket.gethostbyname(host)
        with socket.socket() as free:
            free.bind((address, 0))
    except OSError as error:
        raise BadInputError(
            f"--host {host}: not an IPv4 address or name of this computer; 0.0.0.0 is all of its"
        ) from error
    return IPv4Address(address)


def load_restorers(weights: str | None = None) -> dict[str, Restorer]:
    """Load the weights of every task that has any, the given ones first.

    Raises:
        BadInputError: If there are no such weights, or they are for a task that is unknown.
    """
    restorers = {}
    if weights is not None:
        given = Restorer.load(weights)
        task = given.card["task"]
        if task not in task_names():
            raise BadInputError(f"{weights}: the weights are for an unknown task, '{task}'")
        restorers[task] = given
    for task in task_names():
        if task not in restorers:
            with suppress(BadInputError):
                own = Restorer.load(find_weights(task))
                # Cards of weights trained here have no such key.
                restorers[task] = replace(own, card={"dataset": "builtin", **own.card})
    return restorers


def _serve(
    restorers: dict[str, Restorer],
    compared: Restorer | None,
    host: str,
    port: int | None,
    folder: Path,
) -> None:
    address = find_address(host)
    samples = folder / "samples"
    samples.mkdir()
    # gradio reads these on import.
    os.environ["GRADIO_TEMP_DIR"] = str(folder)
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    # gradio checks that its own server is up, which must not go through a proxy.
    os.environ["NO_PROXY"] = f"{HOST},{host},localhost,{os.environ.get('NO_PROXY', '')}"
    from starlette.middleware import Middleware  # noqa: PLC0415
    from starlette.middleware.trustedhost import TrustedHostMiddleware  # noqa: PLC0415

    from idemnet.app.page import Page  # noqa: PLC0415
    from idemnet.app.restoring import MAX_MEGABYTES  # noqa: PLC0415
    from idemnet.app.theme import THEME  # noqa: PLC0415

    computer = "this computer" if address.is_loopback else f"the computer '{socket.gethostname()}'"
    page = Page(restorers, compared, make_samples(samples, restorers), computer).blocks
    # Prevent DNS rebinding: other sites must not reach this host under their own name.
    names = ["*"] if address.is_unspecified else [host, str(address), HOST, "localhost"]
    try:
        page.launch(
            server_name=str(address),
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
            app_kwargs={
                "middleware": [Middleware(TrustedHostMiddleware, allowed_hosts=names)],
                "openapi_url": None,
            },
        )
    except OSError as error:
        raise BadInputError(
            f"port {port} is already in use: choose another --port, or omit it"
        ) from error
    if not address.is_loopback:
        click.echo(
            f"Warning: listening on {host}. Anyone on the network who can reach this computer can "
            "use the page: there is no password, and no encryption.",
            err=True,
        )
    click.echo(f"The page is at {page.local_url} until you press Ctrl-C.")
    threading.Event().wait()
