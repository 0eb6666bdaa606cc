"""URIs of MLflow stores."""

import os
import re
from pathlib import Path
from urllib.parse import unquote

from kedro.utils import find_kedro_project

SQLITE = "sqlite:///"


def project_store() -> Path:
    """Return the store of the current project, or of this folder outside of one."""
    here = Path.cwd()
    return (find_kedro_project(here) or here) / "mlflow.db"


def tracking_uri() -> str:
    """Return where runs are looked up: MLFLOW_TRACKING_URI, or the project's own store."""
    return os.environ.get("MLFLOW_TRACKING_URI") or sqlite_uri(project_store())


def sqlite_uri(path: Path) -> str:
    """Return a database's URI, with percent signs escaped."""
    return SQLITE + str(path.resolve()).replace("%", "%25").replace("?", "%3F")


def sqlite_path(uri: str) -> Path:
    """Return the file of a database URI."""
    return Path(unquote(uri.removeprefix(SQLITE).partition("?")[0])).resolve()


def without_secrets(text: str) -> str:
    """Strip `user:password@` and queries from the URIs in a text."""
    text = re.sub(r"(\w://)[^/\s]*@", r"\1", text)
    return re.sub(r"(\w://[^\s?'\"]*)\?[^\s'\")]*", r"\1", text)


def explain(error: Exception, uri: str) -> str:
    """Summarise an MLflow error in one line, without secrets."""
    text = " ".join(str(error).split()) or type(error).__name__
    for found in re.findall(r"\w://.*?\?(.+)", uri) + re.findall(r"\w://[^/\s]*?:([^/\s]+)@", uri):
        text = text.replace(found, "***").replace(unquote(found), "***")
    text = without_secrets(text)
    return text if len(text) <= 300 else f"{text[:300]}..."
