"""A `kedro` that imports everything once: most of what a small run takes is imports.

Each line on stdin names a project's folder, a file to count calls in, the call to die at (see
`Counter`), and a command. It is run in a forked child, in a process group of its own, and prints to
`output` in this process's folder; its exit code is answered. What the first child had to import,
its parent then imports for those that follow. Workers are forked too.
"""

import json
import multiprocessing
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from counter import Counter

from idemnet.tracking.store import configure

LEARNT = Path("modules.json").resolve()
OUTPUT = Path("output").resolve()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anybody prints while it is imported is no answer
    configure()  # MLflow reads its settings when it is imported
    import_module("kedro.framework.cli.cli")
    fork = multiprocessing.get_context("fork")
    multiprocessing.get_context = lambda _=None: fork
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(**json.loads(line))
        _, status = os.waitpid(child, 0)
        if LEARNT.exists():
            for name in json.loads(LEARNT.read_text()):
                with suppress(Exception):
                    import_module(name)
            LEARNT.unlink()
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def run(root: str, file: str, at: int, command: list[str]) -> None:
    os.setsid()
    os.chdir(root)
    output = os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream, opened in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
        os.dup2(opened, stream)
    Counter(root, file, at)
    sys.argv = command
    known, code = set(sys.modules), 1
    try:
        import_module("kedro.framework.cli.cli").main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        if more := [name for name in sys.modules if name not in known]:
            LEARNT.write_text(json.dumps(more))
        sys.stdout.flush()
        os._exit(code)


main()
