"""A file worth downloading, and processes that download it and die."""

import contextlib
import hashlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import zipfile

import pytest

from idemnet.errors import BadInputError
from idemnet.fetch.download import fetch

from .http_server import whole

CHILD = """
import json, resource, sys
from pathlib import Path
from idemnet.system import progress
from idemnet.fetch.download import fetch
given = json.loads(sys.argv[1])
if given["most"]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (given["most"], given["most"]))
try:
    print(fetch([given["url"]], Path(given["folder"]), sha256=None, retries=0, timeout=30))
except ValueError as error:
    sys.exit(str(error))
"""


HALF = 1 << 19


def zip_of(size, seed=0):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        # With a date of its own: by today's, every process would have another archive.
        archive.writestr(zipfile.ZipInfo("a.bin"), random.Random(seed).randbytes(size))
    return buffer.getvalue()


DATA = zip_of(2 * HALF)


SHA256 = hashlib.sha256(DATA).hexdigest()


def get(addresses, folder, sha256=SHA256, retries=0, timeout=20.0):
    addresses = [addresses] if isinstance(addresses, str) else addresses
    return fetch(addresses, folder, sha256=sha256, retries=retries, timeout=timeout)


def refused(*args, **options):
    with pytest.raises(BadInputError) as caught:
        get(*args, **options)
    return str(caught.value)


@contextlib.contextmanager
def child(url, folder, most=0, **environment):
    given = json.dumps({"url": url, "folder": str(folder), "most": most})
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", CHILD, given]
    with subprocess.Popen(
        command, text=True, env={**os.environ, **environment}, **pipes
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def bodies(folder):
    return sorted(folder.glob("*.part"))


def wait_until(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def half_arrived(folder):
    return [body.stat().st_size for body in bodies(folder)] == [HALF]


def leave_half(server, folder, hold, **options):
    """A process is killed with half of the file on disk."""
    url = server.on("/a.zip", whole(DATA, cut=HALF, hold=hold, **options))
    with child(url, folder) as process:
        wait_until(lambda: half_arrived(folder))
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
    server.seen.clear()
    server.sent.clear()
    return url


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []
