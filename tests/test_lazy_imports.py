"""Imports inside functions are only of what is slow, optional or missing on some systems."""

import ast

import grimp  # import-linter's graph of imports
import pytest

from .conftest import REPOSITORY

SLOW = {
    "torch", "safetensors", "mlflow", "kedro", "matplotlib", "cv2", "av", "gradio", "starlette",
    "distributed", "dask", "huggingface_hub", "httpx2", "requests", "rich", "numpy", "PIL",
    "psutil",
}  # fmt: skip
"""Packages that start-up leaves out where it can."""
OPTIONAL = {"onnxruntime", "pillow_heif"}
ON_UNIX = {"fcntl", "resource"}
SOURCES = sorted((REPOSITORY / "src/idemnet").rglob("*.py"))


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("idemnet", include_external_packages=True)


def imported_in_functions(source: str) -> list[str]:
    functions = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef)]
    found = []
    for one in (inner for function in functions for inner in ast.walk(function)):
        if isinstance(one, ast.Import):
            found += [name.name for name in one.names]
        elif isinstance(one, ast.ImportFrom):
            found.append(str(one.module))
    return found


def packages(name: str, graph: grimp.ImportGraph) -> set[str]:
    """Return the packages that importing a module of idemnet needs."""
    if not name.startswith("idemnet"):
        return {name.partition(".")[0]}
    return {one.partition(".")[0] for one in graph.find_upstream_modules(name)}


def needless(source: str, graph: grimp.ImportGraph) -> list[str]:
    allowed = SLOW | OPTIONAL | ON_UNIX
    return [one for one in imported_in_functions(source) if not packages(one, graph) & allowed]


def test_functions_import_only_what_is_slow_or_optional(graph):
    found = {path: needless(path.read_text(encoding="utf-8"), graph) for path in SOURCES}
    assert not {str(path.relative_to(REPOSITORY)): names for path, names in found.items() if names}


def test_a_needless_import_in_a_function_is_found(graph):
    source = "def f():\n    from idemnet.errors import BadInputError\n    import torch\n"
    assert needless(source, graph) == ["idemnet.errors"]
