"""For every command in README and docs, the test or script that runs it, or the nearest that does.

Not run as they are shown: what needs a GPU, real data or hours (that is run small, on a CPU, on
imitations), and `pip install` of extras.
"""

import ast
import re

import pytest

from .conftest import REPOSITORY

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]

RUN_BY = {
    r"make (run|test)": ".ci/run",
    r"pip install (\.|'\.\[app\]'|dist/.*)|kedro package|tar xzf .*|python -m idemnet .*": (
        "end_to_end/test_tools.py::test_the_packaged_wheel_runs_a_pipeline_outside_the_repository"
    ),
    r"idemnet restore hazy.*": (
        "test_starter.py::test_a_picture_is_restored_with_nothing_else_at_hand"
    ),
    r"idemnet restore photo\.jpg( --weights data/.*)?": (
        "end_to_end/test_restore.py::test_a_file_is_restored_beside_itself"
    ),
    r"idemnet restore album/.*": (
        "end_to_end/test_restore.py"
        "::test_a_folder_keeps_its_structure_and_one_bad_file_stops_no_other"
    ),
    r"idemnet restore clip\.mp4": (
        "end_to_end/test_restore.py::test_a_video_is_restored_and_gone_on_with_after_a_kill"
    ),
    r"idemnet restore .* --explain": (
        "end_to_end/test_restore.py::test_explained_is_what_each_iteration_did"
    ),
    r"idemnet restore .* --memory .*": (
        "end_to_end/test_restore.py::test_memory_that_is_allowed_is_kept_or_the_picture_is_refused"
    ),
    r"idemnet restore .* --weights mlflow:.*": (
        "end_to_end/test_restore.py::test_weights_come_from_mlflow_by_name_and_alias"
    ),
    r"kedro run --pipeline=prepare_deblur( --tags=\w+)?": (
        "end_to_end/test_prepare.py::test_everything_is_there_after_one_command"
    ),
    r"kedro run --env=paper --pipeline=prepare_deblur": (
        "end_to_end/test_prepare.py::test_data_sets_live_side_by_side"
    ),
    r"kedro run --pipeline=train_deblur( --params=deblur\.train\.idempotence_weight=.*)?": (
        "end_to_end/test_train.py::test_one_command_trains_and_says_what_it_will_cost"
    ),
    r"kedro run --env=starter --pipeline=train_deblur": (
        "test_starter.py::test_its_page_s_command_trains_it"
    ),
    r"kedro run --env=paper --pipeline=train_deblur": (
        "end_to_end/test_train.py"
        "::test_the_paper_environment_holds_the_paper_s_settings_and_starts_on_a_cpu"
    ),
    r"kedro run .*deblur\.train\.processes=.*": (
        "training/test_training.py::test_two_processes_train_as_one"
    ),
    r"kedro run --pipeline=evaluate_deblur": (
        "end_to_end/test_evaluate.py::test_what_was_evaluated_is_not_evaluated_again"
    ),
    r"kedro run --pipeline=restore_deblur": (
        "end_to_end/test_restore.py::test_the_pipeline_restores_what_lies_in_the_inbox"
    ),
    r"kedro run --pipeline=train_dehaze": (
        "end_to_end/test_haze_and_rain.py::test_dehazing_is_trained_and_scored_level_by_level"
    ),
    r"kedro run --env=paper --pipeline=train_de(haze|rain) .*": (
        "end_to_end/test_haze_and_rain.py"
        "::test_the_paper_s_haze_waits_for_a_folder_and_then_uses_it"
    ),
    r"kedro run (--env=paper )?--pipeline=study_\w+( --params=study\.seeds=\d)?": (
        "end_to_end/test_study.py::test_every_cell_is_measured_with_every_seed"
    ),
    r"dvc (repro( study@\w+)?|metrics diff && dvc plots diff .*)": (
        "end_to_end/test_dvc.py::test_every_step_is_a_stage"
    ),
    r"dvc (remote add .*|push)|git checkout OLDER && dvc checkout": (
        "end_to_end/test_dvc.py::test_versions_of_prepared_data"
    ),
    r"kedro registry list": "end_to_end/test_tools.py::test_kedro_registry_catalog_and_ipython",
    r"kedro viz run": (
        "end_to_end/test_tools.py"
        "::test_kedro_viz_shows_the_steps_and_previews_of_images_and_figures"
    ),
    r"mlflow ui": "docs/make_screenshots.py",
    r"idemnet weights import .*": (
        "datasets/test_legacy_weights.py::test_the_command_writes_weights_and_a_card"
    ),
    r"idemnet score .* --crop-reference .*": (
        "evaluation/test_score_command.py"
        "::test_a_border_of_the_reference_is_cut_only_when_asked_for"
    ),
    r"idemnet score .* --protocol gopro": (
        "evaluation/test_score_command.py::test_the_installed_command_scores_two_folders"
    ),
    r"idemnet compare .*": "end_to_end/test_evaluate.py::test_runs_are_compared_side_by_side",
    r"idemnet app( --compare WEIGHTS)?": (
        "end_to_end/test_app.py::test_the_download_is_what_the_package_restores_with_all_that_came_along"
    ),
    r"idemnet export --format onnx": (
        "end_to_end/test_export.py::test_the_readme_s_program_runs_as_written"
    ),
    r"idemnet export --format pt2 .*": "end_to_end/test_export.py::test_pt2_is_run_by_torch_alone",
    r"kedro run --pipeline=train_denoise|idemnet restore grainy.*": (
        "end_to_end/test_extending.py::test_a_new_task"
    ),
    r"kedro run .*deblur\.train\.model=plain.*": "end_to_end/test_extending.py::test_a_new_network",
}


def commands():
    for page in PAGES:
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(), re.DOTALL):
            for line in re.sub(r"\\\n\s*", "", block).splitlines():
                command = re.sub(r"(^|\s+)#.*", "", line).strip()
                if command:
                    yield command


@pytest.mark.parametrize("command", sorted(set(commands())))
def test_a_command_that_is_shown_is_run_somewhere(command):
    runners = [runner for pattern, runner in RUN_BY.items() if re.fullmatch(pattern, command)]
    assert runners, "no test or script is named for it"


@pytest.mark.parametrize("runner", sorted(set(RUN_BY.values())))
def test_what_is_said_to_run_it_is_there(runner):
    if "::" not in runner:
        assert (REPOSITORY / runner).is_file()
        return
    path, name = runner.split("::")
    tree = ast.parse((REPOSITORY / "tests" / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
