"""Versions of the steps. Raise a number when its step gives other results for the same inputs.

That of synthesize is each task's own: VERSION in its file.

This is the only change detector for code: every fingerprint contains the version of its step, and
dvc.yaml tracks the same numbers as `params:`, so Kedro and DVC agree on what to recompute. Source
files are not compared. tests/pipelines/test_versions.py has known results of each version and fails
when the code gives others.
"""

RENDER = 1
"""download: built-in scenes."""
FETCH = 1
"""download: archives, folders and videos."""
CROP = 1
TRAIN = 2
EVALUATE = 3
"""3: SSIM in bands of 64 rows (last digits of scores), evaluations belong to one training."""
REPORT = 5
"""4: plain engineering English, and training parameters by their new names."""
RESTORE = 2
STUDY = 2
"""Which networks a study trains, and how. 2: the gated U-shape."""
STUDY_INPUTS = 1
"""Images that studies derive from the test images."""
READY_PAIRS = 1
"""Pairs of test-only data sets."""
TABLES = 2
"""Tables and figures of a study. 2: updates and hours."""
