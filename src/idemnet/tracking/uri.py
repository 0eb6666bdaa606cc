"""Addresses of MLflow stores: which one is meant, and what of it may be shown."""

import os
import re
from pathlib import Path
from urllib.parse import unquote

SQLITE = "sqlite:///"


def tracking_uri(configured: str, root: Path) -> str:
    """Return where runs are tracked: MLFLOW_TRACKING_URI, what is set, or a file at `root`."""
    return chosen_uri(configured) or sqlite_uri(root.resolve() / "mlflow.db")


def sqlite_uri(path: Path) -> str:
    """Name a database by its file; a percent sign in its path would be taken for an escape."""
    if not {"%", "?"} & set(str(path)):
        return f"{SQLITE}{path}"
    from sqlalchemy import URL  # noqa: PLC0415

    return URL.create("sqlite", database=str(path)).render_as_string()


def sqlite_path(uri: str) -> Path:
    """Return the file that an address names."""
    if not {"%", "?"} & set(uri):
        return Path(uri.removeprefix(SQLITE)).resolve()
    from sqlalchemy import make_url  # noqa: PLC0415

    return Path(make_url(uri).database or "").resolve()


def chosen_uri(configured: str) -> str:
    """Return the store that was chosen, if any."""
    return os.environ.get("MLFLOW_TRACKING_URI") or configured


def without_secrets(text: str) -> str:
    """Strip `user:password@` and queries from the addresses in a text."""
    text = re.sub(r"(\w://)[^/\s]*@", r"\1", text)
    return re.sub(r"(\w://[^\s?'\"]*)\?[^\s'\")]*", r"\1", text)


def explain(error: Exception, uri: str) -> str:
    """Summarise MLflow's error in one line, without what must not be shown."""
    text = " ".join(str(error).split()) or type(error).__name__
    for found in re.findall(r"\w://.*?\?(.+)", uri) + re.findall(r"\w://[^/\s]*?:([^/\s]+)@", uri):
        for secret in (found, unquote(found)):
            text = text.replace(secret, "***")
    text = without_secrets(text)
    return text if len(text) <= 300 else f"{text[:300]}..."
