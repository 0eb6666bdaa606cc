"""The studies, one file for each table of the paper: to add one, add its file here."""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idemnet.studies.parts.study import Study


def get_study(name: str) -> "Study":
    """Import one study."""
    study: Study = import_module(f"{__name__}.{name}").STUDY
    return study


def all_studies() -> "dict[str, Study]":
    """Import every study, in the order of the paper's tables."""
    found = [get_study(module.name) for module in iter_modules(__path__) if not module.ispkg]
    return {study.name: study for study in sorted(found, key=lambda one: (one.order, one.name))}
