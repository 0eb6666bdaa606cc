"""The command `idemnet`."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from idemnet.commands.main import main
from idemnet.tracking.journal import Journal


@pytest.fixture
def journals(tmp_path):
    for name in ("first", "second"):
        Journal(tmp_path / "runs" / name / "journal").start(name, {}, {})
    return tmp_path / "runs"


def replay(root):
    return CliRunner().invoke(main, ["track", "replay", "--root", str(root)])


def test_help_does_not_wait_for_imports():
    code = (
        "import sys\nfrom idemnet.commands.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print(sorted({'kedro', 'mlflow', 'numpy', 'torch'} & sys.modules.keys()))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "track" in said.stdout
    assert said.stdout.endswith("[]\n")


def test_what_nobody_foresaw_is_a_sentence_too_unless_asked_for(journals, monkeypatch):
    def fail(**_):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("idemnet.tracking.store.configure", fail)
    result = replay(journals)
    assert result.exit_code == 1
    assert (
        result.output == "Error: ZeroDivisionError: by nothing (idemnet --debug ... shows where)\n"
    )
    command = ["--debug", "track", "replay", "--root", str(journals)]
    assert isinstance(CliRunner().invoke(main, command).exception, ZeroDivisionError)


def test_replay_says_a_line_about_every_run(journals, monkeypatch):
    monkeypatch.setattr(
        "idemnet.tracking.store.upload", lambda folder, *_: "first" in str(folder) and 7
    )
    result = replay(journals)
    assert result.output == "first/journal: copied 7 lines\nsecond/journal: nothing to do\n"
    assert result.exit_code == 0


def test_replay_goes_on_after_a_failure_and_says_so(journals, monkeypatch):
    def upload(folder, *_):
        if "first" in str(folder):
            raise RuntimeError("API request to http://me:hunter2@host failed\nbadly")
        return 1

    monkeypatch.setattr("idemnet.tracking.store.upload", upload)
    result = replay(journals)
    assert result.output == (
        "first/journal: MLflow says: API request to http://host failed badly\n"
        "second/journal: copied 1 lines\n"
    )
    assert result.exit_code == 1


def test_replay_of_a_missing_folder_is_refused(tmp_path):
    result = replay(tmp_path / "nowhere")
    assert result.exit_code == 2
    assert "does not exist" in result.output
