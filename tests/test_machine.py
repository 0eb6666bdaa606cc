"""What is said of this machine and this process is so."""

import subprocess
import sys

import numpy as np

from idemnet.machine import peak_memory

CODE = "from idemnet.machine import peak_memory; print(peak_memory())"


def test_peak_memory_is_not_that_of_the_process_that_started_this_one():
    held = np.ones(50_000_000)
    output = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True).stdout
    assert int(output) < held.nbytes < peak_memory()
