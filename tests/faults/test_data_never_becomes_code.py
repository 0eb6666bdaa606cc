"""No pickle, eval, exec, yaml.load or shell is in the source, however it is written."""

import ast

import pytest

from ..conftest import REPOSITORY

MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
FUNCTIONS = {
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "yaml.load",
    "yaml.unsafe_load", "yaml.full_load", "tempfile.mktemp", "torch.hub.load", "torch.jit.load",
    "builtins.eval", "builtins.exec",
}  # fmt: skip


def find_code_from_data(source: str) -> list[str]:
    """Name every place where data could become code."""
    tree = ast.parse(source)
    names = imported_names(tree)
    found = []
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        found += [f"line {node.lineno}: {one}" for one in modules if one.split(".")[0] in MODULES]
        if isinstance(node, ast.Call) and (fault := fault_of_call(node, names)):
            found.append(f"line {node.lineno}: {fault}")
    return found


def imported_names(tree: ast.AST) -> dict[str, str]:
    """Return the full name behind every name that was imported."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def fault_of_call(call: ast.Call, names: dict[str, str]) -> str | None:
    first, _, rest = ast.unparse(call.func).partition(".")
    name = names.get(first, first) + (f".{rest}" if rest else "")
    given = {one.arg: ast.unparse(one.value) for one in call.keywords}
    if name in BUILTINS | FUNCTIONS:
        return name
    if given.get("shell", "False") != "False" or given.get("allow_pickle", "False") != "False":
        return f"{name} with a shell or pickle"
    if name == "torch.load" and given.get("weights_only") != "True":
        return "torch.load without weights_only=True"
    return None


def test_the_source_has_none():
    files = [*(REPOSITORY / "src").rglob("*.py"), *(REPOSITORY / "benchmarks").glob("*.py")]
    assert len(files) > 100
    found = {str(file): find_code_from_data(file.read_text()) for file in files}
    assert {file: places for file, places in found.items() if places} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from pickle import loads as fine", "import joblib.externals", "eval(x)",
        "exec(x)", "import yaml as y\ny.load(x, Loader=y.Loader)", "from yaml import load\nload(x)",
        "subprocess.run(x, shell=True)", "subprocess.run(x, shell=flag)", "os.system(x)",
        "from os import system as s\ns(x)", "torch.load(x)", "torch.load(x, weights_only=False)",
        "import torch as t\nt.load(x, weights_only=flag)", "np.load(x, allow_pickle=True)",
    ],
)  # fmt: skip
def test_it_would_be_found(source):
    assert find_code_from_data(source)


@pytest.mark.parametrize(
    "source",
    ["model.eval()", "re.compile(x)", "yaml.safe_load(x)", "torch.load(x, weights_only=True)"],
)
def test_what_is_harmless_is_not(source):
    assert not find_code_from_data(source)
