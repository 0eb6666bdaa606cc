"""The one pipeline of every task: download -> synthesize -> crop -> train -> evaluate -> report."""

import re

from kedro.pipeline import Node, Pipeline, node

from idemnet.pipelines.crop import crop
from idemnet.pipelines.download import download
from idemnet.pipelines.evaluate import evaluate
from idemnet.pipelines.report import report
from idemnet.pipelines.restore import restore_inbox
from idemnet.pipelines.train import train
from idemnet.tasks import get_task


def create_pipeline(task: str) -> Pipeline:
    """Build a task's pipeline; each step is a node and a tag of the same name."""
    synthesize = get_task(task).synthesize
    steps = [
        node(download, "params:source", "raw", name="download"),
        node(synthesize, ["raw", "params:synthesize"], "pairs", name="synthesize"),
        node(crop, ["pairs", "params:crop"], "patches", name="crop"),
        node(train, ["patches", "pairs", "params:train"], "weights", name="train"),
        node(evaluate, ["pairs", "weights", "params:evaluate"], "evaluation", name="evaluate"),
        node(report, ["evaluation", "weights", "other_runs"], "report", name="report"),
    ]
    return Pipeline([_of_task(step, task) for step in steps])


def create_restoring(task: str) -> Pipeline:
    """Build the pipeline that restores the inbox with the task's weights."""
    step = node(restore_inbox, ["inbox", "weights", "params:restore"], "restored", name="restore")
    return Pipeline([_of_task(step, task)])


def _of_task(step: Node, task: str) -> Node:
    """Prefix every name with the task."""
    names = [
        one if one == "inbox" else re.sub(r"^(params:)?", rf"\g<0>{task}.", one)
        for one in (*step.inputs, *step.outputs)
    ]
    return node(step.func, names[:-1], names[-1], name=f"{task}.{step.name}", tags=step.name)
