"""The Kedro and DVC graphs agree, and the repository is consistent."""

import pickle
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from dvc.dependency import ParamsDependency
from dvc.repo import Repo
from kedro.config import OmegaConfigLoader
from kedro.io import DataCatalog
from kedro.pipeline import Node

from idemnet.evaluation.protocols import check_fits
from idemnet.parameters.evaluate import EvaluateParameters
from idemnet.parameters.source import SourceParameters
from idemnet.parameters.study import StudyParameters
from idemnet.parameters.train import TrainParameters
from idemnet.pipeline_registry import register_pipelines
from idemnet.steps import versions
from idemnet.studies import all_studies
from idemnet.system.device import choose_device
from idemnet.tasks import all_tasks, get_task, task_names

from .conftest import REPOSITORY

STUDIES = all_studies()
ENVIRONMENTS = {"base": "builtin", "paper": "paper", "gopro_third": "gopro_third"}
"""Those that studies run in, with their data sets."""
DVC = yaml.safe_load((REPOSITORY / "dvc.yaml").read_text())
GLOBALS = yaml.safe_load((REPOSITORY / DVC["vars"][0]).read_text())
STEPS = {name: stage["do"] for name, stage in DVC["stages"].items() if name != "study"}


def loader(env: str) -> OmegaConfigLoader:
    return OmegaConfigLoader(
        str(REPOSITORY / "conf"), env=env, base_env="base", default_run_env="local",
        merge_strategy={"parameters": "soft", "globals": "soft"},
    )  # fmt: skip


def test_the_pipelines_have_their_names():
    names = set(register_pipelines())
    steps = ("prepare", "train", "evaluate")
    assert {"__default__"} | {f"{step}_{task}" for step in steps for task in task_names()} <= names
    assert {f"study_{name}" for name in STUDIES} <= names
    default, train = (register_pipelines()[name] for name in ("__default__", "train_deblur"))
    assert default.nodes == train.nodes


@pytest.mark.parametrize("task", task_names())
def test_every_stage_is_a_step_of_a_pipeline_with_its_path_in_the_catalog(task):
    assert list(STEPS) == ["download", "synthesize", "crop", "train", "evaluate", "report"]
    pipelines = register_pipelines()
    catalog = DataCatalog.from_config(loader("base")["catalog"])
    for name, stage in STEPS.items():
        command = stage["cmd"].replace("${item}", task)
        pipeline = pipelines[re.search(r"--pipeline=(\w+)", command)[1]]
        tagged = pipeline.only_nodes_with_tags(re.search(r"--tags=(\w+)", command)[1]).nodes
        [step] = [step for step in tagged if step.name == f"{task}.{name}"]
        [output] = step.outputs
        made = [one for kind in ("outs", "metrics", "plots") for one in stage.get(kind, [])]
        assert made
        for [[out, options]] in (one.items() for one in made):
            assert options["persist"]
            path, folder = filled(out, task), path_of(catalog, output)
            assert path == folder or (name == "report" and path.startswith(f"{folder}/"))
        watched, read = set(stage.get("deps", [])), set(step.inputs) - {f"{task}.other_runs"}
        assert {filled(path, task) for path in watched} == {
            path_of(catalog, one) for one in read if not one.startswith("params:")
        }
        assert parameters_of(step) <= watched_parameters(stage, task)


def filled(text: str, task: str, env: str = "base") -> str:
    names = {"item": task, **GLOBALS, "env": env}
    return re.sub(r"\$\{(\w+)\}", lambda name: names[name[1]], text)


def path_of(catalog: DataCatalog, name: str) -> str:
    return str(catalog.get(name)._describe()["filepath"])


def parameters_of(step: Node) -> set[str]:
    return {one.removeprefix("params:") for one in step.inputs if one.startswith("params:")}


def watched_parameters(stage: dict, task: str) -> set[str]:
    """Return the groups of conf/base that a stage watches."""
    files = [file for file in stage["params"] if next(iter(file)).startswith("conf/base/")]
    return {filled(key, task) for file in files for keys in file.values() for key in keys}


def test_dvc_knows_every_study_and_its_task():
    assert DVC["stages"]["study"]["foreach"] == {
        name: study.task for name, study in STUDIES.items()
    }
    stage = DVC["stages"]["study"]["do"]
    assert stage["cmd"] == "kedro run --env=${env} --pipeline=study_${key}"
    pipelines = register_pipelines()
    catalog = DataCatalog.from_config(loader("base")["catalog"])
    for name, study in STUDIES.items():
        output = f"{study.task}.study_{name}"
        assert output in pipelines[f"study_{name}"].all_outputs()
        folder = path_of(catalog, output)
        place = folder.replace(name, "${key}").replace(GLOBALS["dataset"], "${dataset}")
        assert stage["outs"] == [{place: {"persist": True}}]
        for step in pipelines[f"study_{name}"].nodes:
            own = not step.tags & set(STEPS)  # the others are stages of their own
            assert not own or parameters_of(step) <= watched_parameters(stage, study.task)
    for env in ENVIRONMENTS:
        assert yaml.safe_load((REPOSITORY / f"conf/{env}/parameters_study.yml").read_text())


@pytest.mark.parametrize(
    ("env", "task"),
    [*((env, task) for env in ("base", "paper") for task in task_names()),
     ("gopro_third", "deblur")],
)  # fmt: skip
def test_every_environment_sets_what_dvc_watches(env, task):
    for stage in STEPS.values():
        for file in stage["params"]:
            [[path, keys]] = file.items()
            if not path.startswith("conf/"):
                continue
            settings = yaml.safe_load((REPOSITORY / filled(path, task, env)).read_text())
            for key in keys:
                group, name = filled(key, task).split(".")
                assert name in settings[group]


@pytest.mark.parametrize(("env", "dataset"), ENVIRONMENTS.items())
def test_dvc_reads_environment_and_data_set_from_conf(project, env, dataset):
    """One line of dvc.yaml names the environment; the rest is said in conf/ alone."""
    assert {"deblur", "dehaze", "derain"} <= set(DVC["vars"][1]["tasks"]) <= set(task_names())
    assert loader(env)["globals"] == {"env": env, "dataset": dataset}
    text = (REPOSITORY / "dvc.yaml").read_text()
    assert text.count("conf/base/globals.yml") == 1
    switched = text.replace("conf/base/globals.yml", f"conf/{env}/globals.yml")
    (project.folder / "dvc.yaml").write_text(switched)
    project.run("dvc", "init", "-q", "--no-scm")
    listed = project.run("dvc", "stage", "list").stdout
    for task in task_names():
        assert re.search(rf"^download@{task} +Outputs data/01_raw/{task}/{dataset}$", listed, re.M)
    folder = REPOSITORY / "conf" / env
    own = [task for task in task_names() if (folder / f"parameters_{task}.yml").exists()]
    stages = [f"download@{task}" for task in own]
    planned = project.run("dvc", "repro", "--dry", *stages).stdout
    assert planned.count(f"kedro run --env={env} ") == len(stages) > 0


def test_dvc_tracks_versions_and_no_source_file():
    """DVC and fingerprints detect changed code by the same numbers, so they cannot disagree."""
    tracked = set()
    for stage in DVC["stages"].values():
        assert not [one for one in stage["do"].get("deps", []) if one.startswith("src/")]
        parameters = [pair for one in stage["do"]["params"] for pair in one.items()]
        found = {f"{file}:{name}" for file, names in parameters for name in names if ".py" in file}
        assert found
        tracked |= found
    named = {name for name in vars(versions) if name.isupper()} - {"RESTORE"}
    expected = {f"src/idemnet/steps/versions.py:{name}" for name in named}
    assert tracked == expected | {"src/idemnet/tasks/${item}.py:VERSION"}


def test_dvc_lock_records_the_parameters_of_this_commit():
    named = [f"{name}@deblur" for name in STEPS]
    with Repo(str(REPOSITORY), config={"core": {"no_scm": True}}) as repo:
        stages = [stage for stage in repo.index.stages if stage.name in named]
        assert len(stages) == len(STEPS)
        inputs = [one for stage in stages for one in stage.deps]
        parameters = [one for one in inputs if isinstance(one, ParamsDependency)]
        changed = [one.status() for one in parameters if one.status()]
    assert not changed, "run `dvc repro report@deblur`; commit dvc.lock"


def test_a_task_is_named_as_its_file():
    assert {name: task.name for name, task in all_tasks().items()} == {
        name: name for name in task_names()
    }


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_every_task_is_scored_by_a_protocol_that_fits(env):
    parameters = loader(env)["parameters"]
    for task in task_names():
        check_fits(parameters[task]["evaluate"]["protocol"], task, forced=False)


@pytest.mark.parametrize("env", [*ENVIRONMENTS, "starter"])
def test_the_parameters_of_every_environment_are_valid(env):
    from idemnet.hooks.parameters import describe_faults, describe_wrong_cells

    parameters = loader(env)["parameters"]
    groups = {
        **{name: task.parameters for name, task in all_tasks().items()},
        "study": StudyParameters,
        "realblur": SourceParameters,
        "filmed": SourceParameters,
    }
    assert set(parameters) == set(groups)
    for name, group in groups.items():
        assert describe_faults(name, group, parameters[name]) == []
    assert describe_wrong_cells(parameters) == []


@pytest.mark.parametrize("name", STUDIES)
def test_at_full_size_a_study_makes_nothing_smaller(name):
    parameters = loader("paper")["parameters"]
    study, sizes = STUDIES[name], StudyParameters.model_validate(parameters["study"])
    task = parameters[study.task]
    whole = TrainParameters.model_validate(task["train"])
    network = "l" if name == "ablation" else "idempotent"
    [cell] = [cell for cell in study.chosen(sizes) if cell.name == network]
    assert study.training(cell, 0, sizes, whole) == whole
    evaluation = EvaluateParameters.model_validate(task["evaluate"])
    if name != "realblur":
        assert study.evaluation(sizes, evaluation) == evaluation


def test_a_task_rejects_the_parameters_of_another():
    from idemnet.hooks.parameters import describe_faults

    parameters = loader("base")["parameters"]
    mixed = {**parameters["dehaze"], "synthesize": {"slant": 3.0, "beta": [1.8, 0.6]}}
    assert describe_faults("dehaze", get_task("dehaze").parameters, mixed) == [
        "  dehaze.synthesize.beta = [1.8, 0.6]: must be ascending",
        "  dehaze.synthesize.slant = 3.0: Extra inputs are not permitted",
    ]


def test_the_paper_environment_trains_with_the_defaults_which_are_the_paper_s():
    settings = loader("paper")["parameters"]["deblur"]["train"]
    for_the_machine = {"workers", "mixed_precision"}
    found = TrainParameters.model_validate(settings).model_dump(exclude=for_the_machine)
    assert found == TrainParameters().model_dump(exclude=for_the_machine)


@pytest.mark.parametrize("task", task_names())
@pytest.mark.parametrize(("env", "device"), [("base", "cpu"), ("paper", "cuda")])
def test_only_the_paper_environment_uses_a_gpu(env, device, task, monkeypatch):
    """git tracks the scores of conf/base: a run on any machine must leave them as they are."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    settings = loader(env)["parameters"][task]
    train = TrainParameters.model_validate(settings["train"])
    evaluate = EvaluateParameters.model_validate(settings["evaluate"])
    assert (choose_device(train.device), choose_device(evaluate.device)) == (device, device)


def test_no_parameter_file_has_anchors_which_dvc_would_ignore():
    for path in (REPOSITORY / "conf").rglob("*.yml"):
        assert not re.search(r"^[^#]*:\s*[&*]\w", path.read_text(), re.MULTILINE), path


def test_every_step_can_be_sent_to_another_process():
    """As `kedro run --runner=ParallelRunner` does."""
    for name, pipeline in register_pipelines().items():
        for step in pipeline.nodes:
            sent = pickle.loads(pickle.dumps(step.func))
            assert sent.__name__ == step.func.__name__, (name, step)  # else Kedro warns of partials


def test_data_steps_do_not_wait_for_torch():
    """Importing it takes longer than all else that a run begins with."""
    code = (
        "import sys; from idemnet.pipeline_registry import register_pipelines;"
        "assert 'train_deblur' in register_pipelines(); print('torch' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"


def test_the_documented_address_of_mlflow_opens_the_view_for_training():
    """Unlike the experiment's kind, the installed UI respects it."""
    pages = [(REPOSITORY / name).read_text() for name in ("README.md", "docs/training.md")]
    address = r"http://127\.0\.0\.1:5000/#/experiments/1\?(\w+)=(\w+)"
    [(name, value)] = {found for page in pages for found in re.findall(address, page)}
    assert all(re.search(address, page) for page in pages)
    [mlflow] = find_spec("mlflow").submodule_search_locations
    [code] = Path(mlflow, "server/js/build/static/js").glob("main.*.js")
    found = code.read_text()
    assert f'.get("{name}")' in found
    assert f'MACHINE_LEARNING="{value}"' in found
