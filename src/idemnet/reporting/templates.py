"""Render the templates of pages and sentences in this folder."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from idemnet.reporting.formatting import count, in_words, signed


def fill(name: str, **values: Any) -> str:
    """Render a template; pages escape all values."""
    environment = _environment(escape=name.endswith(".html.j2"))
    return environment.get_template(name).render(**values)


def paragraphs(name: str, **values: Any) -> tuple[str, ...]:
    """Render a macro of sentences.j2 as paragraphs of plain text."""
    said = getattr(_environment(escape=False).get_template("sentences.j2").module, name)(**values)
    return tuple(" ".join(one.split()) for one in said.split("\n\n") if one.strip())


def sentence(name: str, **values: Any) -> str:
    """Render a macro of sentences.j2 as one paragraph, which may be empty."""
    return " ".join(paragraphs(name, **values))


@cache
def _environment(*, escape: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("idemnet.reporting", ""),
        autoescape=escape,  # noqa: S701 - on for every page; sentences are escaped by their page
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "counted": count, "in_words": in_words, "signed": signed, "thousands": "{:,}".format,
    }  # fmt: skip
    return environment
