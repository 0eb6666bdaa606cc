"""A malicious checkpoint is rejected: its code does not run, its declared size takes no memory."""

import ast
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from idemnet.errors import BadInputError
from idemnet.inference.import_weights import import_dmphn
from idemnet.inference.weights import read_weights
from idemnet.tracking.checkpoints import Checkpoints

from ..conftest import BIN, REPOSITORY
from ..inference.test_import_weights import WIDTH, random_network, release

RUN = "f" * 64
HUGE = 1 << 40
TREES = ("src", "tests", "benchmarks", "docs")


@pytest.fixture
def released(tmp_path):
    release(tmp_path / "released", random_network())
    return tmp_path / "released"


def as_weights(folder, content: bytes):
    """Weights as somebody sends them: the card is right, whatever the file is."""
    folder.mkdir()
    path = folder / "weights.safetensors"
    path.write_bytes(content)
    card = {"sha256": hashlib.sha256(content).hexdigest(), "task": "deblur"}
    (folder / "card.json").write_text(json.dumps(card))
    return path


def pickled(value, *, zipped: bool = True) -> bytes:
    content = io.BytesIO()
    torch.save(value, content, _use_new_zipfile_serialization=zipped)
    return content.getvalue()


class Malicious:
    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("zipped", [False, True])
def test_code_in_a_file_is_rejected_and_not_run(tmp_path, released, zipped):
    trap = tmp_path / "trap"
    torch.save(
        {"layer1.weight": Malicious(f"touch {trap}")}, released / "encoder_lv1.pkl",
        _use_new_zipfile_serialization=zipped,
    )  # fmt: skip
    with pytest.raises(
        BadInputError, match=r"encoder_lv1\.pkl: rejected, not a file of plain tensors"
    ):
        import_dmphn(released, tmp_path / "out", width=WIDTH)
    assert not trap.exists()


@pytest.mark.parametrize("content", [b"", b"not a pickle", b"PK\x03\x04", b"\x80\x02."])
def test_files_of_something_else_are_rejected(tmp_path, released, content):
    (released / "encoder_lv1.pkl").write_bytes(content)
    with pytest.raises(BadInputError, match=r"encoder_lv1\.pkl: "):
        import_dmphn(released, tmp_path / "out", width=WIDTH)


@pytest.mark.parametrize("zipped", [False, True])
def test_code_in_weights_is_rejected_and_not_run(tmp_path, zipped):
    trap = tmp_path / "trap"
    content = pickled({"w": Malicious(f"touch {trap}")}, zipped=zipped)
    with pytest.raises(BadInputError, match="is not a safetensors file"):
        read_weights(as_weights(tmp_path / "sent", content))
    assert not trap.exists()


def put_checkpoint(runs: Path, content: bytes) -> None:
    """As if a training had saved it: its name has the right sha256."""
    place = runs / RUN[:16]
    place.mkdir(parents=True)
    (place / f"000000001-{hashlib.sha256(content).hexdigest()}.pt").write_bytes(content)


@pytest.mark.parametrize("zipped", [False, True])
def test_code_in_a_checkpoint_of_the_right_name_is_rejected_and_not_run(tmp_path, zipped):
    trap = tmp_path / "trap"
    content = pickled({"step": Malicious(f"touch {trap}")}, zipped=zipped)
    put_checkpoint(tmp_path / "runs", content)
    with pytest.raises(BadInputError, match="no checkpoint is intact"):
        Checkpoints(tmp_path / "runs").load(RUN)
    assert not trap.exists()


def header(**about) -> bytes:
    text = json.dumps(about).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    "content",
    [
        HUGE.to_bytes(8, "little") + b"{}",
        b"\xff" * 8 + b"{}",
        header(w={"dtype": "F32", "shape": [HUGE], "data_offsets": [0, 4 * HUGE]}),
        header(w={"dtype": "F32", "shape": [HUGE, HUGE], "data_offsets": [0, 8]}) + bytes(8),
        header(w={"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}),
        b"",
    ],
)
def test_a_header_that_declares_too_much_is_rejected(tmp_path, content):
    with pytest.raises(BadInputError, match="is not a safetensors file"):
        read_weights(as_weights(tmp_path / "sent", content))


MEASURE = """
import sys
from pathlib import Path
from idemnet.tracking.checkpoints import Checkpoints
from idemnet.inference.import_weights import import_dmphn
from idemnet.inference.weights import read_weights
from idemnet.system.resources import peak_memory
before = peak_memory()
for read in (lambda: read_weights(Path(sys.argv[1])),
             lambda: import_dmphn(Path(sys.argv[2]), Path(sys.argv[2]) / "out", width=2),
             lambda: Checkpoints(Path(sys.argv[3])).load(sys.argv[4])):
    try:
        read()
    except ValueError:
        print("refused")
print(peak_memory() - before)
"""


def test_what_a_file_declares_takes_no_memory(tmp_path, released):
    """A safetensors header of a terabyte; pickles whose packed zeros are 160 MB."""
    weights = as_weights(tmp_path / "sent", HUGE.to_bytes(8, "little") + b"{}")
    plain = pickled({"layer1.weight": torch.zeros(40_000_000)})
    with (
        zipfile.ZipFile(io.BytesIO(plain)) as source,
        zipfile.ZipFile(released / "encoder_lv1.pkl", "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for member in source.namelist():
            bomb.writestr(member, source.read(member))
    runs = tmp_path / "runs"
    put_checkpoint(runs, (released / "encoder_lv1.pkl").read_bytes())
    command = [sys.executable, "-c", MEASURE, str(weights), str(released), str(runs), RUN]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert said[:3] == ["refused", "refused", "refused"]
    assert int(said[3]) < 50_000_000


def test_data_never_becomes_code():
    code = r"shell=True|(^|[^.\w])(eval|exec)\("
    forbidden = r"pickle\.load|weights_only=False|yaml\.load\("
    examples = "test_data_never_becomes_code.py"  # of what is found by syntax
    named = [f":!tests/faults/{name}" for name in (Path(__file__).name, examples)]
    everywhere = ["*.py", "*.ipynb", "*.yml", *named]
    for pattern, places in (
        (f"{forbidden}|{code}", [*everywhere, ":!tests"]),
        (r"weights_only=False|yaml\.load\(", everywhere),
    ):
        found = subprocess.run(
            ["git", "grep", "-nE", pattern, "--", *places],
            cwd=REPOSITORY, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert found.stdout == ""


def test_rules_against_pickles_hold_and_none_is_silenced():
    """Ruff has no S614, which is about torch.load: that is looked for here."""
    command = [str(BIN / "ruff"), "check", "--isolated", "--ignore-noqa", "--select"]
    checked = subprocess.run(
        [*command, "S301,S302,S307,S506,S602", "src", "benchmarks", "docs"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr
    loads = 0
    for path in [path for top in TREES for path in (REPOSITORY / top).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load":
                assert "weights_only=True" in ast.unparse(node), path
                loads += 1
    assert loads >= 2
