from kedro.pipeline import Pipeline

from idemnet.pipelines.restoration import SYNTHESIZE, create_pipeline


def register_pipelines() -> dict[str, Pipeline]:
    """Name the pipelines: prepare_, train_ and evaluate_<task>; train_deblur is the default."""
    pipelines = {}
    for task in SYNTHESIZE:
        whole = create_pipeline(task)
        pipelines[f"prepare_{task}"] = whole.only_nodes_with_tags("download", "synthesize", "crop")
        pipelines[f"train_{task}"] = whole
        pipelines[f"evaluate_{task}"] = whole.only_nodes_with_tags("evaluate", "report")
    return {"__default__": pipelines["train_deblur"], **pipelines}
