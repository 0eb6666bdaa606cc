"""Templates of the pages, which lie beside this file."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def fill(name: str, **values: Any) -> str:
    """Fill a template; in a page, everything that comes from outside is escaped."""
    environment = Environment(
        loader=PackageLoader("idemnet.reporting", ""),
        autoescape=name.endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name).render(**values)
