"""The command `idemnet`."""

import subprocess
import sys

from click.testing import CliRunner

from idemnet.commands.main import main


def test_help_does_not_wait_for_imports():
    code = (
        "import sys\nfrom idemnet.commands.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print(sorted({'kedro', 'mlflow', 'numpy', 'torch'} & sys.modules.keys()))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "track" in said.stdout
    assert said.stdout.endswith("[]\n")


def test_what_nobody_foresaw_is_a_sentence_too_unless_asked_for(monkeypatch):
    def fail():
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("idemnet.tracking.uri.project_store", fail)
    result = CliRunner().invoke(main, ["track", "push"])
    assert result.exit_code == 1
    assert (
        result.output
        == "Error: ZeroDivisionError: by nothing (idemnet --debug ... shows the traceback)\n"
    )
    command = ["--debug", "track", "push"]
    assert isinstance(CliRunner().invoke(main, command).exception, ZeroDivisionError)
