import warnings

from kedro.pipeline import Pipeline

from idemnet.pipelines.restoration import create_pipeline, create_restoring
from idemnet.pipelines.study import create_study
from idemnet.studies import all_studies
from idemnet.tasks import task_names


def register_pipelines() -> dict[str, Pipeline]:
    """Name the pipelines: prepare_, train_, evaluate_, restore_<task> and study_<name>.

    train_deblur is the default.
    """
    # The dots are those of TASK.NAME; with namespaces, kedro-viz would show one box for each task.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One or more dataset names contain '.'", UserWarning)
        return _create_pipelines()


def _create_pipelines() -> dict[str, Pipeline]:
    pipelines = {}
    for task in task_names():
        whole = create_pipeline(task)
        pipelines[f"prepare_{task}"] = whole.only_nodes_with_tags("download", "synthesize", "crop")
        pipelines[f"train_{task}"] = whole
        pipelines[f"evaluate_{task}"] = whole.only_nodes_with_tags("evaluate", "report")
        pipelines[f"restore_{task}"] = create_restoring(task)
    for name, study in all_studies().items():
        pipelines[f"study_{name}"] = pipelines[f"prepare_{study.task}"] + create_study(study)
    return {"__default__": pipelines["train_deblur"], **pipelines}
