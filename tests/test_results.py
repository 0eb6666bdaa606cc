"""No figure of the README's results is typed by hand."""

import importlib.util

from .conftest import REPOSITORY

spec = importlib.util.spec_from_file_location("make_results", REPOSITORY / "docs/make_results.py")
make_results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_results)


def test_the_readme_s_results_are_those_that_were_kept():
    text = (REPOSITORY / "README.md").read_text()
    begin, end = text.index(make_results.BEGIN), text.index(make_results.END)
    assert text[begin : end + len(make_results.END)] == make_results.results_in(
        REPOSITORY / "docs/results"
    )


def test_kept_results_say_which_command_and_commit_made_them():
    pages = list((REPOSITORY / "docs/results").glob("*/*/table.md"))
    assert pages
    for page in pages:
        last = page.read_text().strip().splitlines()[-1]
        dataset, study = page.parent.parts[-2:]
        command = make_results.command_for(dataset, study, 1).partition(" --params")[0]
        assert last.startswith(f"Made by `{command}")
        assert "at commit" in last


def test_commands_name_the_environment_of_their_data_set():
    commands = [make_results.command_for(one, "noise", 3) for one in ("gopro_third", "builtin")]
    assert commands == [
        "kedro run --env=gopro_third --pipeline=study_noise --params=study.seeds=3",
        "kedro run --pipeline=study_noise --params=study.seeds=3",
    ]


def test_real_data_comes_before_rendered_scenes(tmp_path):
    kept = REPOSITORY / "docs/results/builtin"
    for dataset in ("builtin", "gopro_third"):
        (tmp_path / dataset).symlink_to(kept)
    for text in (make_results.results_in(tmp_path), make_results._overview(tmp_path)):
        assert text.index("Real blur") < text.index("Rendered scenes")


def test_every_claim_on_real_blur_has_a_sentence(tmp_path):
    kept = REPOSITORY / "docs/results/builtin"
    (tmp_path / "gopro_third").symlink_to(kept)
    text = make_results._overview(tmp_path)
    assert text.index("**What holds** at this size") < text.index("**What does not hold**")
    sentence = (
        "- The constraint raises the PSNR of DMPHN: \N{MINUS SIGN}0.084 dB, 0 of 3 seeds "
        "([constraint](gopro_third/constraint/table.md))."
    )
    assert text.count(sentence) == 1
    assert text.index("**What does not hold**") < text.index(sentence)
    assert "With more updates" not in text  # the budget study was not kept


def test_gain_and_loss_are_said_for_each_weight(tmp_path):
    place = tmp_path / "gopro_third/weighting"
    place.mkdir(parents=True)
    (place / "table.csv").write_text('network,"gain, dB","lost by repeating, dB"\nx,0.1,2.444\n')
    [*lines, _] = make_results._weighted(tmp_path, "gopro_third")
    assert " ".join(lines).endswith("are: x: +0.100 and 2.44 dB.")
    assert make_results._weighted(tmp_path, "builtin") == []


def test_what_the_budget_study_says_is_kept(tmp_path):
    place = tmp_path / "gopro_third/budget"
    place.mkdir(parents=True)
    (place / "table.md").write_text(
        "# Gain\n\nMeasured.\n\n| updates | gain |\n|---|---|\n| 1 | 2 |\n\n"
        "They cross.\n\n![x](y)\n"
    )
    [line, _] = make_results._against_updates(tmp_path, "gopro_third")
    assert line.endswith("(gopro_third/budget/table.md)): They cross.")
