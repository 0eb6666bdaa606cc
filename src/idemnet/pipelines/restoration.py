"""The one pipeline of every task: download -> synthesize -> crop -> train -> evaluate -> report."""

from kedro.pipeline import Pipeline, node

from idemnet.pipelines.crop import crop
from idemnet.pipelines.download import download
from idemnet.pipelines.evaluate import evaluate_for
from idemnet.pipelines.report import record, report
from idemnet.pipelines.restore import restore_for
from idemnet.pipelines.train import train_for
from idemnet.tasks import get_task


def create_restoring(task: str) -> Pipeline:
    """Build the pipeline that restores what lies in the inbox, with the task's weights."""
    step = node(
        restore_for(task),
        ["inbox", "weights", "params:restore"],
        "restored",
        name="restore",
        tags="restore",
    )
    return Pipeline([step], namespace=task, inputs={"inbox"})


def create_pipeline(task: str) -> Pipeline:
    """Build a task's pipeline; each step is a node and a tag of the same name."""
    steps = [
        node(download, ["params:source", "sources"], "raw", name="download"),
        node(get_task(task).synthesize, ["raw", "params:synthesize"], "pairs", name="synthesize"),
        node(crop, ["pairs", "params:crop"], "patches", name="crop"),
        node(
            train_for(task),
            ["patches", "params:train", "checkpoints", "tracker"],
            "weights",
            name="train",
        ),
        node(
            evaluate_for(task),
            ["pairs", "weights", "params:evaluate"],
            "evaluation",
            name="evaluate",
        ),
        node(report, ["evaluation", "weights", "tracker"], "report", name="report"),
    ]
    tagged = [step.tag(step.name) for step in steps]
    recording = node(record, ["report", "tracker"], None, name="record", tags="report")
    return Pipeline([*tagged, recording], namespace=task, inputs={"sources"})
