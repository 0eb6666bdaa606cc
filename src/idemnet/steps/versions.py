"""Versions of the steps. Raise a number when its step gives other results for the same inputs.

This is the only change detector: every fingerprint contains the version of its step, and dvc.yaml
tracks the same numbers as `params:`, so Kedro and DVC agree on what has to be computed again.
Source files are not compared. tests/pipelines/test_versions.py holds known results of each version
and fails when code gives others.
"""

RENDER = 1
"""download: built-in scenes."""
FETCH = 1
"""download: archives, folders and videos."""
SYNTHESIZE = {"deblur": 1, "dehaze": 1, "derain": 1}
"""By task."""
CROP = 1
TRAIN = 2
EVALUATE = 3
"""3: SSIM in bands of 64 rows (last digits of scores), evaluations belong to one training."""
REPORT = 2
"""2: metrics.json without wall-clock measurements, which are in timing.json."""
RESTORE = 2
STUDY = 1
"""Which networks a study trains, and how."""
STUDY_INPUTS = 1
"""Images that studies derive from the test images."""
READY_PAIRS = 1
"""Pairs of data sets that are only tested on."""
TABLES = 1
"""Tables and figures of a study."""
