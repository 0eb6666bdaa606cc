"""What is said of this machine and this process is so."""

import subprocess
import sys

import numpy as np
import pytest

from idemnet.system.resources import peak_memory

CODE = "from idemnet.system.resources import peak_memory; print(peak_memory())"


def test_peak_memory_is_not_that_of_the_process_that_started_this_one():
    held = np.ones(50_000_000)
    output = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True).stdout
    assert int(output) < held.nbytes < peak_memory()


FREE_AN_ARRAY = """
import sys, numpy, psutil
from idemnet.system.resources import return_freed
if sys.argv[1] == "returned":
    return_freed()
array = numpy.ones(9_000_000, numpy.uint8)
del array  # glibc keeps later ones of this size
held = psutil.Process().memory_info().rss
array = numpy.ones(9_000_000, numpy.uint8)
del array
print(psutil.Process().memory_info().rss - held)
"""


@pytest.mark.parametrize("freed", ["kept", "returned"])
def test_freed_arrays_are_returned_where_that_was_asked_for(freed):
    command = [sys.executable, "-c", FREE_AN_ARRAY, freed]
    grown = int(subprocess.run(command, check=True, capture_output=True).stdout)
    assert (grown > 8_000_000) == (freed == "kept")
