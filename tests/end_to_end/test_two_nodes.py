"""Two nodes on one shared folder: the same command twice, one training."""

import re

from .test_tools import free_port
from .test_train import TRAIN, checkpoints, weights


def test_the_first_prepares_the_data_and_both_train(project):
    where = f"localhost:{free_port()}"
    nodes = f"--params=deblur.train.nodes=2,deblur.train.rendezvous={where}"
    running = [project.start(*TRAIN, nodes) for _ in range(2)]
    outputs = [run.communicate(timeout=900)[0] for run in running]
    assert [run.returncode for run in running] == [0, 0], "\n".join(outputs)
    [joined] = [text for text in outputs if "joining its training" in text]
    [owner] = [text for text in outputs if "joining its training" not in text]
    assert "the node that owns the data publishes the weights" in joined
    assert "waiting up to 60 minutes for 2 nodes" in owner
    made = re.compile(r"data/05_model_input/deblur/builtin: \d+ files")
    assert made.search(owner) and not made.search(joined)
    assert weights(project)
    assert {path.name[:9] for path in checkpoints(project)} == {"000000018"}
